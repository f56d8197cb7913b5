#![no_main]

use sweat::base::Secret;
use sweat::base::http_head::RequestHead;
use sweat::capture::ship::http::parse_request;
use sweat::live_page::PageAccess;

/// What no input can know.
const TOKEN: &str = "7d1b0c5e9f3a4628";

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let token = Secret::new(TOKEN);
    let _ = parse_request(data, None);
    let Ok(head) = RequestHead::parse(data) else {
        assert!(parse_request(data, Some(&token)).is_err());
        return;
    };
    // Nobody gets in without the token.
    if !data.windows(TOKEN.len()).any(|part| part == TOKEN.as_bytes()) {
        assert!(parse_request(data, Some(&token)).is_err());
        let access = PageAccess::new("127.0.0.1:8080".parse().unwrap(), token);
        assert!(access.check_request(&head).is_err());
    }
});

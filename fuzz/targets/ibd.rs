#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    // Any bytes are a page: as they are, and as one that says it belongs to an index.
    sweat::warm::hotset::ibd::probe_page(data);
    let mut page = data.to_vec();
    if page.len() > 64 {
        page[24..26].copy_from_slice(&17855u16.to_be_bytes());
        page[26..30].fill(0);
        sweat::warm::hotset::ibd::probe_page(&page);
    }
});

//! Every crate in the tree has a permissive licence: the list of deny.toml, checked without cargo-deny.

use std::process::Command;

/// Whether an SPDX expression can be satisfied with allowed licences only.
fn permitted(expression: &str, allowed: &[&str]) -> bool {
    let flat = |text: &str| text.trim().trim_matches(|c| c == '(' || c == ')').to_owned();
    let either = |text: &str| {
        let text = text.replace('/', " OR ");
        text.split(" OR ").map(flat).any(|choice| {
            choice.split(" AND ").map(flat).all(|licence| allowed.contains(&licence.as_str()))
        })
    };
    if expression.contains('(') {
        expression.split(" AND ").all(either)
    } else {
        either(expression)
    }
}

fn allowed_licences() -> Vec<String> {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/deny.toml"))
        .expect("deny.toml is there");
    let table: toml::Table = text.parse().expect("deny.toml is TOML");
    let list = table["licenses"]["allow"].as_array().expect("licenses.allow is a list");
    list.iter().map(|v| v.as_str().expect("a licence is text").to_owned()).collect()
}

#[test]
fn every_dependency_is_permissive() {
    #[expect(clippy::disallowed_methods, reason = "asks cargo for the tree")]
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked"])
        .args(["--filter-platform", &format!("{}-unknown-linux-gnu", std::env::consts::ARCH)])
        .args(["--manifest-path", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")])
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let tree: serde_json::Value =
        serde_json::from_slice(&output.stdout).expect("cargo prints JSON");
    let allowed = allowed_licences();
    let allowed: Vec<&str> = allowed.iter().map(String::as_str).collect();
    let packages = tree["packages"].as_array().expect("a list of packages");
    assert!(packages.len() > 20, "the whole tree is there");
    let refused: Vec<String> = packages
        .iter()
        .filter(|p| !permitted(p["license"].as_str().unwrap_or("none"), &allowed))
        .map(|p| format!("{}: {}", p["name"], p["license"]))
        .collect();
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}

#[test]
fn expressions_are_understood() {
    let allowed = ["MIT", "Unicode-3.0"];
    for (expression, verdict) in [
        ("MIT", true),
        ("GPL-3.0", false),
        ("GPL-3.0 OR MIT", true),
        ("Apache-2.0/MIT", true),
        ("Apache-2.0 AND MIT", false),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", true),
        ("(Apache-2.0) AND Unicode-3.0", false),
    ] {
        assert_eq!(permitted(expression, &allowed), verdict, "{expression}");
    }
}

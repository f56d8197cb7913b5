//! A file of scenarios: from its text to steps whose texts have holes for values. All mistakes together, with their lines.

use std::path::Path;

use super::load::{SizeCheck, StatusRange};
use super::request::check_field;
use crate::client::HttpUrl;
use crate::plan::{Mistake, Mistakes, PlanSection, field_secret_at, read_document};
use crate::workload::mix::{ThinkTime, ValueDraws, ValueFile};

/// The format that is read.
const FORMAT: u64 = 1;
/// Most scenarios of a file, and steps of all.
const MOST_SCENARIOS: usize = 64;
const MOST_STEPS: usize = 256;
/// Keys that each name a method and give the path.
const METHODS: [&str; 7] = ["get", "post", "put", "patch", "delete", "head", "options"];

/// A whole file.
#[derive(Debug)]
pub(super) struct ScenarioFile {
    /// Where its paths are, unless the command line says it.
    pub(super) url: Option<HttpUrl>,
    /// Other servers that steps name.
    pub(super) servers: Vec<HttpUrl>,
    pub(super) values: ValueFile,
    pub(super) scenarios: Vec<ScenarioSpec>,
    /// Places and names of all holes and kept values; texts have their numbers.
    pub(super) names: Vec<(String, String)>,
    pub(super) kept: Vec<String>,
}

/// `[scenario.NAME]`: a class of events, each of which plays all steps.
#[derive(Debug)]
pub(super) struct ScenarioSpec {
    pub(super) name: String,
    pub(super) weight: f64,
    /// After each event.
    pub(super) think: Option<ThinkTime>,
    pub(super) steps: Vec<PageStep>,
}

/// A request of a scenario.
#[derive(Debug)]
pub(super) struct PageStep {
    pub(super) label: String,
    pub(super) method: String,
    /// Which server: 0 for that of the file, then the others.
    pub(super) server: usize,
    pub(super) path: HoleText,
    pub(super) fields: Vec<HoleText>,
    /// Of the fields of all requests those that go to the file's own server only: secrets and `Host`.
    pub(super) base_fields: Vec<HoleText>,
    pub(super) body: Option<HoleText>,
    /// After the step.
    pub(super) think: Option<ThinkTime>,
    /// Names, by number, and where their values come from.
    pub(super) keeps: Vec<(usize, KeepSource)>,
    pub(super) expect: PageExpect,
}

/// Where in a reply a value is.
#[derive(Debug)]
pub(super) enum KeepSource {
    /// A pointer into JSON (RFC 6901).
    Json(String),
    /// A field of the head.
    Header(String),
    /// Between the first occurrences of two texts.
    Between(String, String),
}

/// What a reply is held against.
#[derive(Debug)]
pub(super) struct PageExpect {
    pub(super) status: Vec<StatusRange>,
    pub(super) size: SizeCheck,
    /// Must be in the body.
    pub(super) text: Option<String>,
    /// Pointers and what is there.
    pub(super) json: Vec<(String, String)>,
}

/// How values are written into a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HoleCoding {
    Raw,
    /// Into addresses and forms: all but letters, digits and `-._~` as `%XX`.
    Percent,
    /// Into fields of a head: without control characters.
    Field,
}

/// A text with holes: `/item/{{id}}`.
#[derive(Debug)]
pub(super) struct HoleText {
    coding: HoleCoding,
    /// Texts, each with the number of the name behind it.
    pieces: Vec<(String, Option<usize>)>,
}

impl HoleText {
    /// Writes it with the values of an event.
    pub(super) fn write(&self, values: &mut ValueDraws<'_>, out: &mut Vec<u8>) {
        let mut value = Vec::new();
        for (literal, hole) in &self.pieces {
            out.extend_from_slice(literal.as_bytes());
            let Some(place) = hole else { continue };
            value.clear();
            values.write_value(*place, &mut value);
            match self.coding {
                HoleCoding::Raw => out.extend_from_slice(&value),
                HoleCoding::Percent => percent_encode(&value, out),
                HoleCoding::Field => out.extend(value.iter().filter(|b| !b.is_ascii_control())),
            }
        }
    }

    fn literals(&self) -> String {
        self.pieces.iter().map(|(literal, _)| literal.as_str()).collect()
    }
}

/// Writes bytes as they stand in addresses and forms.
fn percent_encode(bytes: &[u8], out: &mut Vec<u8>) {
    for byte in bytes {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(*byte),
            _ => out.extend_from_slice(format!("%{byte:02X}").as_bytes()),
        }
    }
}

/// Reads a file.
///
/// # Errors
/// All mistakes together.
pub(super) fn read_scenario_file(path: &Path) -> Result<ScenarioFile, Mistakes> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| {
        let mistake = Mistake::new(format!("--file {shown}"), error.to_string());
        Mistakes(vec![mistake.hint("is the path right?")])
    })?;
    read_scenarios(&text).map_err(|mut list| {
        list.iter_mut().for_each(|mistake| mistake.place = format!("{shown} {}", mistake.place));
        Mistakes(list)
    })
}

/// Reads the text of one.
///
/// # Errors
/// All mistakes together, in the order of the text.
pub(super) fn read_scenarios(text: &str) -> Result<ScenarioFile, Vec<Mistake>> {
    read_document(text, |root| {
        if root.read_count("format", FORMAT, FORMAT).is_none() && !root.has_key("format") {
            let hint = format!("begin the file with format = {FORMAT}");
            root.add_mistake("format", "the file does not say its format", Some(hint));
        }
        root.read_text("about");
        let url = root.read_text("url").and_then(|text| match HttpUrl::from_text(&text) {
            Ok(url) => Some(url),
            Err(why) => {
                root.add_mistake("url", why, Some("as in http://localhost:8080".to_owned()));
                None
            }
        });
        let values = ValueFile::from_sections(root);
        let mut reader = StepReader::default();
        let headers = root.read_section("headers").read_pairs();
        for (name, ..) in &headers {
            reader.check_name(root, "headers", name);
        }
        let mut scenarios = Vec::new();
        for (name, section) in root.read_section("scenario").named_sections() {
            scenarios.push(reader.read_scenario(name, &section, &headers));
        }
        let steps: usize = scenarios.iter().map(|scenario| scenario.steps.len()).sum();
        if scenarios.is_empty() {
            let hint = "as in [scenario.browse] with steps = [ {get = \"/\"} ]".to_owned();
            root.add_mistake("scenario", "there is nothing to run", Some(hint));
        } else if scenarios.len() > MOST_SCENARIOS || steps > MOST_STEPS {
            let why = format!("more than {MOST_SCENARIOS} scenarios or {MOST_STEPS} steps");
            root.add_mistake("scenario", &why, None);
        }
        root.check_unknown_keys();
        let StepReader { names, kept, servers } = reader;
        ScenarioFile { url, servers, values, scenarios, names, kept }
    })
}

/// Reads steps, and notes the names in them.
#[derive(Default)]
struct StepReader {
    names: Vec<(String, String)>,
    kept: Vec<String>,
    servers: Vec<HttpUrl>,
}

impl StepReader {
    /// The server that a step's address names, and its path; of a path that is the file's server.
    fn split_server<'t>(
        &mut self,
        section: &PlanSection<'_>,
        key: &'static str,
        address: &'t str,
    ) -> (usize, &'t str) {
        let start = address.find("://").filter(|_| !address.starts_with('/'));
        let Some(start) = start.map(|at| at + "://".len()) else { return (0, address) };
        let end = address[start..].find('/').map_or(address.len(), |at| start + at);
        let (origin, path) = address.split_at(end);
        match HttpUrl::from_text(origin) {
            Ok(server) => {
                let known = self.servers.iter().position(|known| *known == server);
                let place = known.unwrap_or(self.servers.len());
                if known.is_none() {
                    self.servers.push(server);
                }
                (place + 1, if path.is_empty() { "/" } else { path })
            }
            Err(why) => {
                let hint = "as in http://localhost:8080/item/{{id}}".to_owned();
                section.add_mistake(key, why, Some(hint));
                (0, path)
            }
        }
    }

    fn read_scenario(
        &mut self,
        name: String,
        section: &PlanSection<'_>,
        headers: &[(String, String, usize)],
    ) -> ScenarioSpec {
        let weight = section.read_number("weight").unwrap_or(1.0);
        if weight <= 0.0 || !weight.is_finite() {
            section.add_mistake("weight", "it is not above 0", Some("weight = 3".to_owned()));
        }
        let think = ThinkTime::read_from(section, "think");
        let given = section.read_sections("steps");
        let steps: Vec<PageStep> =
            given.iter().filter_map(|step| self.read_step(step, headers)).collect();
        if given.is_empty() {
            let hint = "steps = [ {get = \"/\"} ]".to_owned();
            section.add_own_mistake("it has no steps", Some(hint));
        }
        section.check_unknown_keys();
        ScenarioSpec { name, weight, think, steps }
    }

    fn read_step(
        &mut self,
        section: &PlanSection<'_>,
        headers: &[(String, String, usize)],
    ) -> Option<PageStep> {
        let given: Vec<&str> = METHODS.into_iter().filter(|key| section.has_key(key)).collect();
        let [method] = given[..] else {
            let hint = "get = \"/path\", or post, put, patch, delete, head, options".to_owned();
            section.add_own_mistake("a step has one method with its path", Some(hint));
            return None;
        };
        let address = section.read_text(method)?;
        let (server, path_text) = self.split_server(section, method, &address);
        let path = self.read_holes(section, method, path_text, HoleCoding::Percent)?;
        let literal = path.literals();
        if !literal.starts_with('/') || !path_text.starts_with('/') {
            let hint = "as in /item/{{id}}".to_owned();
            section.add_mistake(method, "a path begins with /", Some(hint));
        } else if let Err(why) = HttpUrl::from_text(&format!("http://h{literal}")) {
            section.add_mistake(method, why, None);
        }
        let method_name = method.to_ascii_uppercase();
        let label = section.read_text("name");
        let label = label.unwrap_or_else(|| format!("{method_name} {address}"));
        let mut fields = Vec::new();
        let own = section.read_section("headers").read_pairs();
        let is_own = |name: &str| own.iter().any(|(own, ..)| own.eq_ignore_ascii_case(name));
        let mut base_fields = Vec::new();
        let common = headers.iter().filter(|(name, ..)| !is_own(name));
        let common = common.map(|header| (header, true));
        for ((name, value, _), is_common) in own.iter().map(|own| (own, false)).chain(common) {
            self.check_name(section, "headers", name);
            let text = format!("{name}: {value}");
            let is_bound = field_secret_at(&text).is_some() || name.eq_ignore_ascii_case("host");
            let list = if is_common && is_bound { &mut base_fields } else { &mut fields };
            list.extend(self.read_holes(section, "headers", &text, HoleCoding::Field));
        }
        let form = section.read_section("form").read_pairs();
        let body = match (section.read_text("body"), form.is_empty()) {
            (Some(_), false) => {
                section.add_mistake("form", "there is a body, too", Some("leave out one".into()));
                None
            }
            (Some(text), true) => self.read_holes(section, "body", &text, HoleCoding::Raw),
            (None, true) => None,
            (None, false) => {
                let named = |name: &str| {
                    own.iter()
                        .map(|(own, ..)| own)
                        .chain(headers.iter().map(|(name, ..)| name))
                        .any(|own| own.eq_ignore_ascii_case(name))
                };
                if !named("content-type") {
                    let text = "Content-Type: application/x-www-form-urlencoded";
                    fields.extend(self.read_holes(section, "form", text, HoleCoding::Field));
                }
                self.read_form(section, &form)
            }
        };
        let step = PageStep {
            label,
            method: method_name,
            server,
            path,
            fields,
            base_fields,
            body,
            think: ThinkTime::read_from(section, "think"),
            keeps: self.read_keeps(section),
            expect: read_expect(&section.read_section("expect")),
        };
        section.check_unknown_keys();
        Some(step)
    }

    fn check_name(&self, section: &PlanSection<'_>, key: &'static str, name: &str) {
        if let Err(why) = check_field(&format!("{name}: x")) {
            section.add_mistake(key, &format!("`{name}`: {why}"), None);
        }
    }

    fn read_form(
        &mut self,
        section: &PlanSection<'_>,
        form: &[(String, String, usize)],
    ) -> Option<HoleText> {
        let mut pieces = Vec::new();
        for (number, (name, value, _)) in form.iter().enumerate() {
            let mut start = if number > 0 { b"&".to_vec() } else { Vec::new() };
            percent_encode(name.as_bytes(), &mut start);
            start.push(b'=');
            pieces.push((String::from_utf8_lossy(&start).into_owned(), None));
            let text = self.read_holes(section, "form", value, HoleCoding::Percent)?;
            pieces.extend(text.pieces.into_iter().map(|(literal, hole)| {
                let mut coded = Vec::new();
                percent_encode(literal.as_bytes(), &mut coded);
                (String::from_utf8_lossy(&coded).into_owned(), hole)
            }));
        }
        Some(HoleText { coding: HoleCoding::Percent, pieces })
    }

    /// The number of a name.
    fn number_of(&mut self, section: &PlanSection<'_>, name: &str) -> usize {
        let found = self.names.iter().position(|(_, known)| known == name);
        found.unwrap_or_else(|| {
            self.names.push((section.place_text(), name.to_owned()));
            self.names.len() - 1
        })
    }

    /// A text with holes under a key.
    fn read_holes(
        &mut self,
        section: &PlanSection<'_>,
        key: &'static str,
        text: &str,
        coding: HoleCoding,
    ) -> Option<HoleText> {
        if coding == HoleCoding::Field && text.chars().any(char::is_control) {
            section.add_mistake(key, "a field has no control characters", None);
        }
        let (mut pieces, mut rest) = (Vec::new(), text);
        while let Some(at) = rest.find("{{") {
            let Some(end) = rest[at..].find("}}") else {
                section.add_mistake(key, "`{{` has no `}}`", None);
                return None;
            };
            let name = rest[at + 2..at + end].trim();
            let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
            if name.is_empty() || !name.chars().all(is_name) {
                let why = format!("`{{{{{name}}}}}` names no value");
                section.add_mistake(key, &why, Some("as in {{id}}".to_owned()));
                return None;
            }
            let number = self.number_of(section, name);
            pieces.push((rest[..at].to_owned(), Some(number)));
            rest = &rest[at + end + 2..];
        }
        pieces.push((rest.to_owned(), None));
        Some(HoleText { coding, pieces })
    }

    fn read_keeps(&mut self, section: &PlanSection<'_>) -> Vec<(usize, KeepSource)> {
        let mut keeps = Vec::new();
        for (name, keep) in section.read_section("keep").named_sections() {
            let json = keep.read_text("json");
            let header = keep.read_text("header");
            let between = keep.read_texts("between");
            let source = match (json, header, between.as_deref()) {
                (Some(pointer), None, None) => {
                    check_pointer(&keep, "json", &pointer);
                    Some(KeepSource::Json(pointer))
                }
                (None, Some(header), None) => Some(KeepSource::Header(header.to_ascii_lowercase())),
                (None, None, Some([before, behind])) if !before.is_empty() => {
                    Some(KeepSource::Between(before.clone(), behind.clone()))
                }
                _ => {
                    let hint =
                        "one of json = \"/a/b\", header = \"X-Id\", between = [\"id=\", \"&\"]";
                    keep.add_own_mistake("it does not say where the value is", Some(hint.into()));
                    None
                }
            };
            keep.check_unknown_keys();
            self.kept.push(name.clone());
            let number = self.number_of(section, &name);
            keeps.extend(source.map(|source| (number, source)));
        }
        keeps
    }
}

fn check_pointer(section: &PlanSection<'_>, key: &'static str, pointer: &str) {
    if !pointer.is_empty() && !pointer.starts_with('/') {
        let hint = Some("as in /items/0/id".to_owned());
        section.add_mistake(key, &format!("`{pointer}` is not a JSON pointer"), hint);
    }
}

fn read_expect(section: &PlanSection<'_>) -> PageExpect {
    let status = section.read_text("status").unwrap_or_default();
    let status = StatusRange::read_list(&status).unwrap_or_else(|part| {
        let hint = "as in 200, 2xx, 200-299,304".to_owned();
        section.add_mistake("status", &format!("`{part}` is not a status"), Some(hint));
        Vec::new()
    });
    let size = section.read_text("size").map(|text| match SizeCheck::from_text(&text) {
        Some(SizeCheck::Between(low, high)) => SizeCheck::Between(low, high),
        _ => {
            let why = format!("`{text}` is not a number of bytes");
            section.add_mistake("size", &why, Some("612 or 100-2000".to_owned()));
            SizeCheck::Any
        }
    });
    let pairs = section.read_section("json").read_pairs();
    for (pointer, ..) in &pairs {
        check_pointer(section, "json", pointer);
    }
    let expect = PageExpect {
        status,
        size: size.unwrap_or_default(),
        text: section.read_text("text"),
        json: pairs.into_iter().map(|(pointer, value, _)| (pointer, value)).collect(),
    };
    section.check_unknown_keys();
    expect
}

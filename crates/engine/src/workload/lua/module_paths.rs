//! Where scripts find modules: the folders of sysbench, and those that the user names.

use super::settings::ScriptSetup;

/// Where sysbench looks for modules besides `LUA_PATH`.
const MODULE_PATH: &str = "./?.lua;./?/init.lua;./src/lua/?.lua;\
    {home}/.luarocks/share/lua/5.1/?.lua;\
    {home}/.luarocks/share/lua/5.1/?/init.lua;{home}/.luarocks/share/lua/?.lua;\
    {home}/.luarocks/share/lua/?/init.lua;\
    /usr/local/share/lua/5.1/?.lua;/usr/share/lua/5.1/?.lua;/usr/share/sysbench/?.lua";
/// Where it looks for modules in C besides `LUA_CPATH`.
const C_MODULE_PATH: &str = "./?.so;{home}/.luarocks/lib/lua/5.1/?.so;\
    {home}/.luarocks/lib/lua/?.so;/usr/local/lib/lua/5.1/?.so;/usr/lib/lua/5.1/?.so;\
    /usr/lib/{machine}-linux-gnu/lua/5.1/?.so";

/// Where `require` looks.
pub(super) fn module_path(setup: &ScriptSetup) -> String {
    let home = std::env::var("HOME").unwrap_or_default();
    let mut path = MODULE_PATH.replace("{home}", &home);
    for dir in &setup.module_dirs {
        path = format!("{path};{}/?.lua", dir.display());
    }
    path_from_environment("LUA_PATH", path)
}

/// Where `require` looks for modules in C.
pub(super) fn c_module_path() -> String {
    let home = std::env::var("HOME").unwrap_or_default();
    let path = C_MODULE_PATH.replace("{home}", &home);
    path_from_environment("LUA_CPATH", path.replace("{machine}", std::env::consts::ARCH))
}

/// A path of Lua that the user may replace or add to: `;;` stands for ours.
fn path_from_environment(variable: &str, path: String) -> String {
    match std::env::var(variable) {
        Ok(own) if own.contains(";;") => own.replace(";;", &format!(";{path};")),
        Ok(own) => own,
        Err(_) => path,
    }
}

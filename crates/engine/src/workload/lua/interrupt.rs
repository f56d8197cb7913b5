//! Ends scripts that do not look whether they shall end: `while true do end`.
#![expect(unsafe_code, reason = "a hook is set in a state that runs on another thread")]

use std::sync::{Arc, Mutex, PoisonError};

use mlua::{Lua, ffi};

/// The main state of a script; the hook that is set through it is that of all its coroutines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct StatePointer(*mut ffi::lua_State);

// SAFETY: the pointer is only used to set a hook, which LuaJIT allows at any time, and only while the state is registered.
unsafe impl Send for StatePointer {}

/// The states that may have to be interrupted.
#[derive(Clone, Debug, Default)]
pub(super) struct RunningStates(Arc<Mutex<Vec<StatePointer>>>);

/// Keeps a state on the list; goes before its state does.
#[derive(Debug)]
pub(super) struct StateRegistration {
    states: RunningStates,
    pointer: StatePointer,
}

impl Drop for StateRegistration {
    fn drop(&mut self) {
        let mut states = self.states.0.lock().unwrap_or_else(PoisonError::into_inner);
        states.retain(|state| *state != self.pointer);
    }
}

impl RunningStates {
    /// Puts a state on the list.
    pub(super) fn register_state(&self, lua: &Lua) -> StateRegistration {
        let mut pointer = std::ptr::null_mut();
        // SAFETY: the function only looks at the pointer, and leaves the stack as it is.
        let told = unsafe { lua.exec_raw::<()>((), |state| pointer = state) };
        debug_assert!(told.is_ok(), "nothing in it can fail");
        let pointer = StatePointer(pointer);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(pointer);
        StateRegistration { states: self.clone(), pointer }
    }

    /// Makes each state on the list fail at its next step, again and again until it has ended.
    pub(super) fn interrupt_all(&self) {
        for state in self.0.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            // SAFETY: the state lives, as it is on the list and the list is locked.
            unsafe { ffi::lua_sethook(state.0, Some(end_script), ffi::LUA_MASKCOUNT, 1) };
        }
    }
}

/// The hook: an error that no `pcall` of the script holds for longer than one step.
unsafe extern "C-unwind" fn end_script(state: *mut ffi::lua_State, _: *mut ffi::lua_Debug) {
    // SAFETY: Lua calls its hook with a state that may raise an error.
    unsafe { ffi::luaL_error(state, c"the script was interrupted".as_ptr()) };
}

//! Which workers of a thread share connections of HTTP/2.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use super::places::OriginBook;
use crate::client::SharedLine;

/// Workers that share a connection to each place.
pub(super) struct StreamGroup {
    /// Whose places they are: another load's workers are of another group.
    book: *const OriginBook,
    members: Cell<usize>,
    most: usize,
    lines: RefCell<Vec<(String, Rc<SharedLine>)>>,
}

thread_local! {
    /// The group that the next worker of this thread joins.
    static LAST: RefCell<Weak<StreamGroup>> = const { RefCell::new(Weak::new()) };
}

impl StreamGroup {
    /// Joins the group of the worker before, or begins one where that has enough members. Workers are made on the thread that
    /// runs them, in order, and the driver keeps a group on one thread.
    pub(super) fn join_group(book: &OriginBook, most: usize) -> Rc<StreamGroup> {
        let last = LAST.with_borrow(Weak::upgrade);
        let joined =
            last.filter(|group| std::ptr::eq(group.book, book) && group.members.get() < group.most);
        let group = joined.unwrap_or_else(|| {
            let lines = RefCell::default();
            let new = Rc::new(StreamGroup { book, members: Cell::new(0), most, lines });
            LAST.set(Rc::downgrade(&new));
            new
        });
        group.members.set(group.members.get() + 1);
        group
    }

    /// The connection to a place.
    pub(super) fn line_to(&self, place: &str) -> Rc<SharedLine> {
        let mut lines = self.lines.borrow_mut();
        if let Some((_, line)) = lines.iter().find(|(known, _)| known == place) {
            return line.clone();
        }
        let line = Rc::new(SharedLine::new(self.most > 1));
        lines.push((place.to_owned(), line.clone()));
        line
    }
}

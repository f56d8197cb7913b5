//! Connections that have not asked for anything yet. Anybody can open one, before any token: so they are bounded in
//! number and in time, and who comes late is not kept out by who came early and says nothing.

use std::collections::VecDeque;
use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::{Resource, getrlimit};

/// Most connections that may be about to ask, where the system lets us have so many.
const MOST: u64 = 128;
/// Fewest, however few files we may open.
const FEWEST: u64 = 8;
/// One in so many of the files that we may open: each takes two, and readers need theirs.
const SHARE: u64 = 8;

/// Those connections, in the order in which they came.
#[derive(Debug)]
pub(super) struct PendingConnections {
    most: usize,
    list: Mutex<VecDeque<(u64, TcpStream)>>,
}

/// One of them; it is none any more when this goes.
pub(super) struct PendingConnection<'a> {
    arrivals: &'a PendingConnections,
    id: u64,
}

impl PendingConnections {
    /// As many as fit the files that we may open.
    pub(super) fn new() -> PendingConnections {
        let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let most = (files / SHARE).clamp(FEWEST, MOST);
        PendingConnections { most: usize::try_from(most).unwrap_or(1), list: Mutex::default() }
    }

    fn lock_list(&self) -> MutexGuard<'_, VecDeque<(u64, TcpStream)>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes one in. Where there are too many, the one that has been there for longest goes: it had the most time.
    ///
    /// # Errors
    /// When there is no file for it.
    pub(super) fn add_connection(
        &self,
        id: u64,
        socket: &TcpStream,
    ) -> io::Result<PendingConnection<'_>> {
        let own = socket.try_clone()?;
        let mut list = self.lock_list();
        list.push_back((id, own));
        if list.len() > self.most {
            if let Some((_, oldest)) = list.pop_front() {
                let _ = oldest.shutdown(Shutdown::Both);
            }
        }
        Ok(PendingConnection { arrivals: self, id })
    }
}

impl Drop for PendingConnection<'_> {
    fn drop(&mut self) {
        self.arrivals.lock_list().retain(|(id, _)| *id != self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;
    use std::net::TcpListener;

    #[test]
    fn the_oldest_goes_where_there_are_too_many() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let arrivals = PendingConnections { most: 2, list: Mutex::default() };
        let mut others: Vec<TcpStream> =
            (0..3).map(|_| TcpStream::connect(address).unwrap()).collect();
        let ours: Vec<TcpStream> = (0..3).map(|_| listener.accept().unwrap().0).collect();
        let first = arrivals.add_connection(0, &ours[0]).unwrap();
        let second = arrivals.add_connection(1, &ours[1]).unwrap();
        drop(second);
        let third = arrivals.add_connection(2, &ours[2]).unwrap();
        assert_eq!(arrivals.lock_list().len(), 2);
        let _fourth = arrivals.add_connection(3, &ours[1]).unwrap();
        assert_eq!(arrivals.lock_list().len(), 2);
        assert_eq!(others[0].read(&mut [0]).unwrap(), 0, "it was closed");
        drop((first, third));
        assert_eq!(arrivals.lock_list().len(), 1);
    }
}

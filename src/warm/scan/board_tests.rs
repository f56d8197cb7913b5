use super::*;
use crate::warm::catalog::{Column, Index, Part, Table};
use crate::warm::scan::unit::{Blobs, units};

const FREE: Rate = Rate { pages: f64::INFINITY };

/// Units of two tables, two indexes each.
fn board(rate: Rate) -> Board {
    board_for(rate, u64::MAX)
}

/// The same for a pool with room for so many pages.
fn board_for(rate: Rate, room: u64) -> Board {
    let table = |name: &str| Table {
        database: "db".to_owned(),
        name: name.to_owned(),
        columns: vec![Column { name: "id".to_owned(), ..Column::default() }],
        indexes: ["PRIMARY", "k"]
            .map(|name| Index {
                name: name.to_owned(),
                unique: name == "PRIMARY",
                kind: "BTREE".to_owned(),
                parts: vec![Part { column: Some("id".to_owned()), ..Part::default() }],
                ignored: false,
            })
            .to_vec(),
        pages: ["PRIMARY", "k"].map(|i| ((String::new(), i.to_owned()), 100)).into(),
        ..Table::default()
    };
    let mut all = units(&table("a"), Blobs::Leave, &mut Vec::new());
    all.extend(units(&table("b"), Blobs::Leave, &mut Vec::new()));
    Board::new(all, rate, Nanos(0), room)
}

fn task(unit: usize, pages: u64) -> Task {
    Task { unit, condition: String::new(), pages, mark: None }
}

/// Takes a unit and cuts it into `pieces` of 50 pages.
fn cut(board: &mut Board, pieces: usize) -> usize {
    let Work::Cut(unit) = board.take(Nanos(0)) else { panic!("a unit to cut was expected") };
    board.cut_into(unit, vec![task(unit, 50); pieces]);
    unit
}

fn read(board: &mut Board) -> Task {
    let Work::Read(task) = board.take(Nanos(0)) else { panic!("a piece was expected") };
    task
}

#[test]
fn tables_and_databases_begin_and_end_once() {
    let mut board = board(FREE);
    for _ in 0..4 {
        cut(&mut board, 2);
        for _ in 0..2 {
            let task = read(&mut board);
            board.read(&task);
        }
    }
    assert_eq!(board.take(Nanos(0)), Work::End);
    let (db, a, b) = ("db".to_owned(), "a".to_owned(), "b".to_owned());
    let expected = [
        Event::DatabaseBegan(db.clone()),
        Event::TableBegan(db.clone(), a.clone()),
        Event::TableEnded(db.clone(), a),
        Event::TableBegan(db.clone(), b.clone()),
        Event::TableEnded(db.clone(), b),
        Event::DatabaseEnded(db),
    ];
    assert_eq!(board.events(), expected);
    assert!(board.left_out().is_empty());
    assert_eq!(board.pages_done(0), 400);
}

#[test]
fn sessions_wait_while_another_cuts_the_last_unit() {
    let mut board = board(FREE);
    for _ in 0..3 {
        cut(&mut board, 0);
    }
    let Work::Cut(last) = board.take(Nanos(0)) else { panic!("one unit is left") };
    assert_eq!(board.take(Nanos(0)), Work::Wait);
    board.cut_into(last, vec![task(last, 1)]);
    let piece = read(&mut board);
    assert_eq!(board.take(Nanos(0)), Work::End);
    board.read(&piece);
}

#[test]
fn a_failed_piece_drops_the_rest_of_its_index_and_nothing_else() {
    let mut board = board(FREE);
    cut(&mut board, 3);
    let (first, second) = (read(&mut board), read(&mut board));
    board.read_failed(&first, "gone");
    board.read(&second);
    assert_eq!(board.failures(), ["db.a.PRIMARY: gone"]);
    let unit = cut(&mut board, 1);
    let task = read(&mut board);
    assert_eq!(task.unit, unit, "the dropped piece does not come back");
    board.read(&task);
    let (db, a) = ("db".to_owned(), "a".to_owned());
    assert_eq!(board.events().last(), Some(&Event::TableFailed(db, a, "gone".to_owned())));
}

#[test]
fn a_closed_gate_ends_the_work_and_names_what_is_left() {
    let mut board = board(FREE);
    cut(&mut board, 2);
    let done = read(&mut board);
    board.read(&done);
    let running = read(&mut board);
    board.gate = Gate::Closed;
    assert_eq!(board.take(Nanos(0)), Work::End);
    board.broken_off(&running);
    assert_eq!(
        board.left_out(),
        ["db.a.PRIMARY (read in part)", "db.a.k", "db.b.PRIMARY", "db.b.k"]
    );
    assert_eq!(board.pages_done(1_000), 50);
}

#[test]
fn a_rate_makes_the_next_piece_wait_for_its_time() {
    let mut board = board(Rate { pages: 50.0 });
    cut(&mut board, 2);
    let first = read(&mut board);
    board.read(&first);
    assert_eq!(board.take(Nanos(999_999_999)), Work::Wait);
    assert!(matches!(board.take(Nanos(1_000_000_000)), Work::Read(_)));
}

#[test]
fn a_paused_gate_makes_everybody_wait() {
    let mut board = board(FREE);
    board.gate = Gate::Paused;
    assert_eq!(board.take(Nanos(0)), Work::Wait);
    board.gate = Gate::Open;
    assert_eq!(board.take(Nanos(0)), Work::Cut(0));
}

#[test]
fn no_more_begins_than_the_last_look_at_the_pool_allows() {
    let mut board = board(FREE);
    cut(&mut board, 3);
    board.allow(60);
    read(&mut board);
    read(&mut board);
    assert!(!board.is_starved());
    assert_eq!(board.take(Nanos(0)), Work::Wait, "100 pages have begun where 60 may");
    assert!(board.is_starved());
    board.allow(1);
    assert!(!board.is_starved());
    read(&mut board);
}

#[test]
fn where_not_all_fits_an_index_is_read_to_its_end_before_the_next_begins() {
    let mut board = board_for(FREE, 399);
    cut(&mut board, 2);
    let (first, second) = (read(&mut board), read(&mut board));
    assert_eq!(board.take(Nanos(0)), Work::Wait, "two pieces are under way");
    board.read(&first);
    assert_eq!(board.take(Nanos(0)), Work::Wait, "one is still");
    board.read_failed(&second, "gone");
    for _ in 0..2 {
        cut(&mut board, 1);
        let piece = read(&mut board);
        board.read(&piece);
    }
    let Work::Cut(last) = board.take(Nanos(0)) else { panic!("one unit is left") };
    assert_eq!(board.take(Nanos(0)), Work::Wait, "the last unit is being cut");
    board.cut_into(last, vec![task(last, 50)]);
    let piece = read(&mut board);
    assert_eq!(board.take(Nanos(0)), Work::End, "nothing is left to begin");
    board.read(&piece);
    assert!(!board_for(FREE, 400).one_by_one);
}

use super::*;
use crate::warm::catalog::{CatalogColumn, CatalogIndex, CatalogTable};
use crate::warm::scan::unit::{BlobPolicy, table_units};

const FREE: PageRate = PageRate { pages: f64::INFINITY };

/// Units of two tables, two indexes each.
fn board(rate: PageRate) -> WorkQueue {
    board_for(rate, u64::MAX)
}

/// The same for a pool with room for so many pages.
fn board_for(rate: PageRate, room: u64) -> WorkQueue {
    let table = |name: &str| CatalogTable {
        database: "db".to_owned(),
        name: name.to_owned(),
        columns: vec![CatalogColumn { name: "id".to_owned(), ..CatalogColumn::default() }],
        indexes: ["PRIMARY", "k"].map(|name| CatalogIndex::of_columns(name, &["id"])).to_vec(),
        pages: ["PRIMARY", "k"].map(|i| ((String::new(), i.to_owned()), 100)).into(),
        ..CatalogTable::default()
    };
    let mut all = table_units(&table("a"), BlobPolicy::Leave, &mut Vec::new());
    all.extend(table_units(&table("b"), BlobPolicy::Leave, &mut Vec::new()));
    WorkQueue::new(all, rate, Nanos(0), room)
}

fn task(unit: usize, pages: u64) -> ReadTask {
    ReadTask { unit, condition: String::new(), pages, mark: None }
}

/// Takes a unit and cuts it into `pieces` of 50 pages.
fn cut(queue: &mut WorkQueue, chunks: usize) -> usize {
    let WorkItem::Cut(unit) = queue.next_work(Nanos(0)) else {
        panic!("a unit to cut was expected")
    };
    queue.add_tasks(unit, vec![task(unit, 50); chunks]);
    unit
}

fn read(queue: &mut WorkQueue) -> ReadTask {
    let WorkItem::Read(task) = queue.next_work(Nanos(0)) else { panic!("a piece was expected") };
    task
}

#[test]
fn tables_and_databases_begin_and_end_once() {
    let mut queue = board(FREE);
    for _ in 0..4 {
        cut(&mut queue, 2);
        for _ in 0..2 {
            let task = read(&mut queue);
            queue.finish_task(&task);
        }
    }
    assert_eq!(queue.next_work(Nanos(0)), WorkItem::End);
    let (db, a, b) = ("db".to_owned(), "a".to_owned(), "b".to_owned());
    let expected = [
        WarmEvent::DatabaseBegan(db.clone()),
        WarmEvent::TableBegan(db.clone(), a.clone()),
        WarmEvent::TableEnded(db.clone(), a),
        WarmEvent::TableBegan(db.clone(), b.clone()),
        WarmEvent::TableEnded(db.clone(), b),
        WarmEvent::DatabaseEnded(db),
    ];
    assert_eq!(queue.take_events(), expected);
    assert!(queue.unread_units().is_empty());
    assert_eq!(queue.pages_done(0), 400);
}

#[test]
fn sessions_wait_while_another_cuts_the_last_unit() {
    let mut queue = board(FREE);
    for _ in 0..3 {
        cut(&mut queue, 0);
    }
    let WorkItem::Cut(last) = queue.next_work(Nanos(0)) else { panic!("one unit is left") };
    assert_eq!(queue.next_work(Nanos(0)), WorkItem::Wait);
    queue.add_tasks(last, vec![task(last, 1)]);
    let chunk = read(&mut queue);
    assert_eq!(queue.next_work(Nanos(0)), WorkItem::End);
    queue.finish_task(&chunk);
}

#[test]
fn a_failed_piece_drops_the_rest_of_its_index_and_nothing_else() {
    let mut queue = board(FREE);
    cut(&mut queue, 3);
    let (first, second) = (read(&mut queue), read(&mut queue));
    queue.fail_task(&first, "gone");
    queue.finish_task(&second);
    assert_eq!(queue.failures(), ["db.a.PRIMARY: gone"]);
    let unit = cut(&mut queue, 1);
    let task = read(&mut queue);
    assert_eq!(task.unit, unit, "the dropped piece does not come back");
    queue.finish_task(&task);
    let (db, a) = ("db".to_owned(), "a".to_owned());
    assert_eq!(queue.take_events().last(), Some(&WarmEvent::TableFailed(db, a, "gone".to_owned())));
}

#[test]
fn a_closed_gate_ends_the_work_and_names_what_is_left() {
    let mut queue = board(FREE);
    cut(&mut queue, 2);
    let done = read(&mut queue);
    queue.finish_task(&done);
    let running = read(&mut queue);
    queue.gate = QueueGate::Closed;
    assert_eq!(queue.next_work(Nanos(0)), WorkItem::End);
    queue.abort_task(&running);
    assert_eq!(
        queue.unread_units(),
        ["db.a.PRIMARY (read in part)", "db.a.k", "db.b.PRIMARY", "db.b.k"]
    );
    assert_eq!(queue.pages_done(1_000), 50);
}

#[test]
fn a_rate_makes_the_next_piece_wait_for_its_time() {
    let mut queue = board(PageRate { pages: 50.0 });
    cut(&mut queue, 2);
    let first = read(&mut queue);
    queue.finish_task(&first);
    assert_eq!(queue.next_work(Nanos(999_999_999)), WorkItem::Wait);
    assert!(matches!(queue.next_work(Nanos(1_000_000_000)), WorkItem::Read(_)));
}

#[test]
fn a_paused_gate_makes_everybody_wait() {
    let mut queue = board(FREE);
    queue.gate = QueueGate::Paused;
    assert_eq!(queue.next_work(Nanos(0)), WorkItem::Wait);
    queue.gate = QueueGate::Open;
    assert_eq!(queue.next_work(Nanos(0)), WorkItem::Cut(0));
}

#[test]
fn no_more_begins_than_the_last_look_at_the_pool_allows() {
    let mut queue = board(FREE);
    cut(&mut queue, 3);
    queue.set_allowance(60);
    read(&mut queue);
    read(&mut queue);
    assert!(!queue.is_starved());
    assert_eq!(queue.next_work(Nanos(0)), WorkItem::Wait, "100 pages have begun where 60 may");
    assert!(queue.is_starved());
    queue.set_allowance(1);
    assert!(!queue.is_starved());
    read(&mut queue);
}

#[test]
fn where_not_all_fits_an_index_is_read_to_its_end_before_the_next_begins() {
    let mut queue = board_for(FREE, 399);
    cut(&mut queue, 2);
    let (first, second) = (read(&mut queue), read(&mut queue));
    assert_eq!(queue.next_work(Nanos(0)), WorkItem::Wait, "two pieces are under way");
    queue.finish_task(&first);
    assert_eq!(queue.next_work(Nanos(0)), WorkItem::Wait, "one is still");
    queue.fail_task(&second, "gone");
    for _ in 0..2 {
        cut(&mut queue, 1);
        let chunk = read(&mut queue);
        queue.finish_task(&chunk);
    }
    let WorkItem::Cut(last) = queue.next_work(Nanos(0)) else { panic!("one unit is left") };
    assert_eq!(queue.next_work(Nanos(0)), WorkItem::Wait, "the last unit is being cut");
    queue.add_tasks(last, vec![task(last, 50)]);
    let chunk = read(&mut queue);
    assert_eq!(queue.next_work(Nanos(0)), WorkItem::End, "nothing is left to begin");
    queue.finish_task(&chunk);
    assert!(!board_for(FREE, 400).one_by_one);
}

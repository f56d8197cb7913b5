//! The mix: which transaction comes next. Cards are dealt from a shuffled deck, so that no share falls under its minimum by
//! chance in a short run (clause 5.2.4.2).

use super::inputs::TransactionKind;
use crate::base::random::Rng;

/// Cards of each transaction: a little more than the least shares of clause 5.2.3 (43, 4, 4 and 4 %), so that a deck that is
/// not dealt to its end does not take a share below them, and the rest for new orders.
const CARDS_OF_240: [usize; 5] = [106, 104, 10, 10, 10];
/// The deck of clause 5.2.4.2.
const CARDS_OF_23: [usize; 5] = [10, 10, 1, 1, 1];

/// A deck that is shuffled anew when it is empty.
#[derive(Clone, Debug)]
pub(super) struct CardDeck {
    cards: Vec<TransactionKind>,
    at: usize,
}

impl CardDeck {
    pub(super) fn new(is_small: bool) -> CardDeck {
        let counts = if is_small { CARDS_OF_23 } else { CARDS_OF_240 };
        let cards: Vec<TransactionKind> = TransactionKind::ALL
            .into_iter()
            .zip(counts)
            .flat_map(|(kind, count)| std::iter::repeat_n(kind, count))
            .collect();
        CardDeck { at: cards.len(), cards }
    }

    /// The next card.
    pub(super) fn deal(&mut self, rng: &mut Rng) -> TransactionKind {
        if self.at == self.cards.len() {
            for at in (1..self.cards.len()).rev() {
                self.cards.swap(at, rng.uniform_below(at as u64 + 1) as usize);
            }
            self.at = 0;
        }
        self.at += 1;
        self.cards[self.at - 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_deck_holds_its_shares_exactly() {
        for (is_small, cards, payments) in [(false, 240, 104), (true, 23, 10)] {
            let mut deck = CardDeck::new(is_small);
            let mut rng = Rng::new(1, 0, 0);
            let mut orders = Vec::new();
            for _ in 0..50 {
                let dealt: Vec<_> = (0..cards).map(|_| deck.deal(&mut rng)).collect();
                let count = |kind| dealt.iter().filter(|card| **card == kind).count();
                assert_eq!(count(TransactionKind::Payment), payments);
                assert_eq!(count(TransactionKind::StockLevel), if is_small { 1 } else { 10 });
                orders.push(dealt);
            }
            assert_ne!(orders[0], orders[1], "it is shuffled each time");
        }
    }
}

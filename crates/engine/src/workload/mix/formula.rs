//! Conditions and small sums: `:scale * 100000`, `:n > 0 and not :done`, `rows(product)`. Evaluated without allocation.
//! Never knows: where values come from.

use std::cmp::Ordering;

/// A value while something is computed with it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scalar<'a> {
    /// NULL.
    Null,
    /// A whole number.
    Int(i64),
    /// A real number.
    Real(f64),
    /// Bytes.
    Text(&'a [u8]),
}

/// A value that is kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum OwnedScalar {
    /// NULL.
    #[default]
    Null,
    /// A whole number.
    Int(i64),
    /// A real number.
    Real(f64),
    /// Bytes.
    Text(Box<[u8]>),
}

impl OwnedScalar {
    pub(super) fn borrow_scalar(&self) -> Scalar<'_> {
        match self {
            OwnedScalar::Null => Scalar::Null,
            OwnedScalar::Int(number) => Scalar::Int(*number),
            OwnedScalar::Real(number) => Scalar::Real(*number),
            OwnedScalar::Text(text) => Scalar::Text(text),
        }
    }

    /// What a text is as one would type it: a number where it is one that reads back the same.
    pub(super) fn from_typed(text: &str) -> OwnedScalar {
        match parse_whole(text.as_bytes()) {
            Some(number) => OwnedScalar::Int(number),
            None => match text.parse::<f64>() {
                Ok(number) if number.is_finite() && text.contains('.') => OwnedScalar::Real(number),
                _ => OwnedScalar::Text(text.as_bytes().into()),
            },
        }
    }
}

/// A whole number that is written as numbers are: `07` and `+7` are texts.
pub(super) fn parse_whole(text: &[u8]) -> Option<i64> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let is_plain = matches!(digits, [b'0'] | [b'1'..=b'9', ..]) && digits.len() <= 19;
    if !is_plain || text == b"-0" {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

impl<'a> Scalar<'a> {
    /// The same as a number; texts as far as they are numbers.
    fn to_number(self) -> Scalar<'a> {
        match self {
            Scalar::Text(text) => match parse_whole(text) {
                Some(number) => Scalar::Int(number),
                None => {
                    let number = std::str::from_utf8(text).ok().and_then(|t| t.trim().parse().ok());
                    number.filter(|n: &f64| n.is_finite()).map_or(Scalar::Null, Scalar::Real)
                }
            },
            other => other,
        }
    }

    pub(super) fn to_real(self) -> Option<f64> {
        match self.to_number() {
            Scalar::Int(number) => Some(number as f64),
            Scalar::Real(number) => Some(number),
            _ => None,
        }
    }

    pub(super) fn to_whole(self) -> Option<i64> {
        match self.to_number() {
            Scalar::Int(number) => Some(number),
            Scalar::Real(number) => Some(number as i64),
            _ => None,
        }
    }

    /// Whether a condition holds: NULL is no.
    pub(super) fn is_true(self) -> bool {
        self.to_real().is_some_and(|number| number != 0.0)
    }

    fn compare(self, other: Scalar<'_>) -> Option<Ordering> {
        match (self, other) {
            (Scalar::Null, _) | (_, Scalar::Null) => None,
            (Scalar::Text(a), Scalar::Text(b)) => Some(a.cmp(b)),
            (Scalar::Int(a), Scalar::Int(b)) => Some(a.cmp(&b)),
            (a, b) => a.to_real()?.partial_cmp(&b.to_real()?),
        }
    }
}

/// What two values are made into one by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BinaryOperator {
    Add,
    Subtract,
    Multiply,
    Divide,
    IntegerDivide,
    Remainder,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    And,
    Or,
    Least,
    Greatest,
}

/// An expression; `N` is what it calls values by: names as it was read, places once it was bound.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Formula<N> {
    Constant(OwnedScalar),
    Value(N),
    Negate(Box<Formula<N>>),
    Not(Box<Formula<N>>),
    Binary(BinaryOperator, Box<Formula<N>>, Box<Formula<N>>),
}

/// What a formula may ask for by name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum FormulaName {
    /// `:name`, or `:name.field`.
    Value(String),
    /// `rows(table)`.
    Rows(String),
    /// `stored(table)`: rows that the server has now.
    Stored(String),
    /// `count(data)`.
    Count(String),
    /// `last(value)`: how far the numbers of a unique value are stored.
    Last(String),
    /// `max(table.column)`: asked of the server before the load.
    Highest(String, String),
}

impl<N: Clone> Formula<N> {
    /// The same with other names; constants are computed where all of an operation are known.
    pub(super) fn bind<M: Clone, E>(
        &self,
        bind: &mut dyn FnMut(&N) -> Result<Formula<M>, E>,
    ) -> Result<Formula<M>, E> {
        let bound = match self {
            Formula::Constant(constant) => Formula::Constant(constant.clone()),
            Formula::Value(name) => bind(name)?,
            Formula::Negate(of) => Formula::Negate(Box::new(of.bind(bind)?)),
            Formula::Not(of) => Formula::Not(Box::new(of.bind(bind)?)),
            Formula::Binary(operator, a, b) => {
                Formula::Binary(*operator, Box::new(a.bind(bind)?), Box::new(b.bind(bind)?))
            }
        };
        Ok(bound.fold_constants())
    }

    pub(super) fn fold_constants(self) -> Formula<N> {
        let is_constant = |part: &Formula<N>| matches!(part, Formula::Constant(_));
        let folds = match &self {
            Formula::Constant(_) | Formula::Value(_) => false,
            Formula::Negate(of) | Formula::Not(of) => is_constant(of),
            Formula::Binary(_, a, b) => is_constant(a) && is_constant(b),
        };
        if !folds {
            return self;
        }
        let computed = match self.evaluate(&|_| Scalar::Null) {
            Scalar::Null => OwnedScalar::Null,
            Scalar::Int(number) => OwnedScalar::Int(number),
            Scalar::Real(number) => OwnedScalar::Real(number),
            Scalar::Text(text) => OwnedScalar::Text(text.into()),
        };
        Formula::Constant(computed)
    }

    /// The constant, if it is one.
    pub(super) fn as_constant(&self) -> Option<&OwnedScalar> {
        match self {
            Formula::Constant(constant) => Some(constant),
            _ => None,
        }
    }

    /// Tells every name in it.
    pub(super) fn for_each_name(&self, told: &mut dyn FnMut(&N)) {
        match self {
            Formula::Constant(_) => {}
            Formula::Value(name) => told(name),
            Formula::Negate(of) | Formula::Not(of) => of.for_each_name(told),
            Formula::Binary(_, a, b) => {
                a.for_each_name(told);
                b.for_each_name(told);
            }
        }
    }

    /// The value of it, given those that it names.
    pub(super) fn evaluate<'a>(&'a self, value_of: &dyn Fn(&N) -> Scalar<'a>) -> Scalar<'a> {
        match self {
            Formula::Constant(constant) => constant.borrow_scalar(),
            Formula::Value(name) => value_of(name),
            Formula::Negate(of) => match of.evaluate(value_of).to_number() {
                Scalar::Int(number) => Scalar::Int(number.wrapping_neg()),
                Scalar::Real(number) => Scalar::Real(-number),
                _ => Scalar::Null,
            },
            Formula::Not(of) => match of.evaluate(value_of) {
                Scalar::Null => Scalar::Null,
                value => Scalar::Int(i64::from(!value.is_true())),
            },
            Formula::Binary(operator, a, b) => {
                operator.apply(a.evaluate(value_of), b.evaluate(value_of))
            }
        }
    }
}

impl BinaryOperator {
    fn apply<'a>(self, a: Scalar<'a>, b: Scalar<'a>) -> Scalar<'a> {
        use BinaryOperator as Op;
        let truth = |holds: bool| Scalar::Int(i64::from(holds));
        let ordered = |holds: fn(Ordering) -> bool| {
            a.compare(b).map_or(Scalar::Null, |order| truth(holds(order)))
        };
        match self {
            Op::And => truth(a.is_true() && b.is_true()),
            Op::Or => truth(a.is_true() || b.is_true()),
            Op::Equal => ordered(Ordering::is_eq),
            Op::NotEqual => ordered(Ordering::is_ne),
            Op::Less => ordered(Ordering::is_lt),
            Op::LessOrEqual => ordered(Ordering::is_le),
            Op::Greater => ordered(Ordering::is_gt),
            Op::GreaterOrEqual => ordered(Ordering::is_ge),
            Op::Least => a.compare(b).map_or(Scalar::Null, |o| if o.is_le() { a } else { b }),
            Op::Greatest => a.compare(b).map_or(Scalar::Null, |o| if o.is_ge() { a } else { b }),
            _ => self.compute(a.to_number(), b.to_number()),
        }
    }

    fn compute<'a>(self, a: Scalar<'a>, b: Scalar<'a>) -> Scalar<'a> {
        use BinaryOperator as Op;
        if let (Scalar::Int(x), Scalar::Int(y)) = (a, b) {
            let whole = match self {
                Op::Add => x.checked_add(y),
                Op::Subtract => x.checked_sub(y),
                Op::Multiply => x.checked_mul(y),
                Op::IntegerDivide => x.checked_div(y),
                Op::Remainder => x.checked_rem(y),
                // A quotient without a rest is whole, so that `:n / 2` serves as a key.
                _ => x.checked_rem(y).filter(|rest| *rest == 0).and_then(|_| x.checked_div(y)),
            };
            if let Some(number) = whole {
                return Scalar::Int(number);
            }
        }
        let (Some(x), Some(y)) = (a.to_real(), b.to_real()) else { return Scalar::Null };
        let real = match self {
            Op::Add => x + y,
            Op::Subtract => x - y,
            Op::Multiply => x * y,
            Op::IntegerDivide => (x / y).trunc(),
            Op::Remainder => x % y,
            _ => x / y,
        };
        if real.is_finite() { Scalar::Real(real) } else { Scalar::Null }
    }
}

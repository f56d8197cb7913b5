//! Which key comes next: the distributions of the field.

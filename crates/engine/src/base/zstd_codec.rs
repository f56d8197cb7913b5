//! zstd where this build has it (feature `zstd`), else types of the same shape that can't be made and say so.
//! The only file that names the crate.

/// First bytes of what zstd packs.
pub const ZSTD_MARK: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
/// Whether this build can pack and unpack by zstd.
pub const HAS_ZSTD: bool = cfg!(feature = "zstd");
/// What to tell those who need it where it is not.
pub const WITHOUT_ZSTD: &str = "this build has no zstd: build with --features zstd";

pub use codec::{ZstdEncoder, ZstdReader, ZstdWriteDecoder};

#[cfg(feature = "zstd")]
mod codec {
    /// Packs what is written to it.
    pub type ZstdEncoder<W> = zstd::stream::write::Encoder<'static, W>;
    /// Unpacks what is written to it.
    pub type ZstdWriteDecoder<W> = zstd::stream::write::Decoder<'static, W>;
    /// Unpacks what is read through it.
    pub type ZstdReader<R> = zstd::stream::read::Decoder<'static, R>;
}

#[cfg(not(feature = "zstd"))]
mod codec {
    use std::convert::Infallible;
    use std::io::{self, BufRead, Read, Write};
    use std::marker::PhantomData;

    fn refuse<T>() -> io::Result<T> {
        Err(io::Error::new(io::ErrorKind::Unsupported, super::WITHOUT_ZSTD))
    }

    /// Would pack what is written to it.
    pub struct ZstdEncoder<W>(Infallible, PhantomData<W>);

    impl<W: Write> ZstdEncoder<W> {
        /// Refuses.
        ///
        /// # Errors
        /// Always.
        pub fn new(_sink: W, _level: i32) -> io::Result<ZstdEncoder<W>> {
            refuse()
        }
        /// Can't be called.
        ///
        /// # Errors
        /// Never.
        pub fn finish(self) -> io::Result<W> {
            match self.0 {}
        }
        /// Can't be called.
        pub fn get_ref(&self) -> &W {
            match self.0 {}
        }
        /// Can't be called.
        pub fn get_mut(&mut self) -> &mut W {
            match self.0 {}
        }
    }

    impl<W> Write for ZstdEncoder<W> {
        fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
            match self.0 {}
        }
        fn flush(&mut self) -> io::Result<()> {
            match self.0 {}
        }
    }

    /// Would unpack what is written to it.
    pub struct ZstdWriteDecoder<W>(Infallible, PhantomData<W>);

    impl<W: Write> ZstdWriteDecoder<W> {
        /// Refuses.
        ///
        /// # Errors
        /// Always.
        pub fn new(_sink: W) -> io::Result<ZstdWriteDecoder<W>> {
            refuse()
        }
        /// Can't be called.
        pub fn get_mut(&mut self) -> &mut W {
            match self.0 {}
        }
    }

    impl<W> Write for ZstdWriteDecoder<W> {
        fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
            match self.0 {}
        }
        fn flush(&mut self) -> io::Result<()> {
            match self.0 {}
        }
    }

    /// Would unpack what is read through it.
    pub struct ZstdReader<R>(Infallible, PhantomData<R>);

    impl<R: BufRead> ZstdReader<R> {
        /// Refuses.
        ///
        /// # Errors
        /// Always.
        pub fn with_buffer(_source: R) -> io::Result<ZstdReader<R>> {
            refuse()
        }
        /// Can't be called.
        ///
        /// # Errors
        /// Never.
        pub fn window_log_max(&mut self, _most: u32) -> io::Result<()> {
            match self.0 {}
        }
    }

    impl<R> Read for ZstdReader<R> {
        fn read(&mut self, _out: &mut [u8]) -> io::Result<usize> {
            match self.0 {}
        }
    }
}

//! How statements are written: each behind what the buffer holds, header included.

use super::constants::{CommandByte, ParameterType};
use super::{CHUNK, ProtocolError};
use crate::client::mysql::{ParameterValue, PreparedStatement};

/// Bit that marks a parameter's type as unsigned.
const UNSIGNED: u8 = 0x80;

/// Writes a command with its argument as packets numbered from 0; gives the number behind the last.
pub(in crate::client::mysql) fn write_command(
    out: &mut Vec<u8>,
    command: CommandByte,
    argument: &[u8],
) -> u8 {
    let start = out.len();
    out.extend_from_slice(&[0, 0, 0, 0, command as u8]);
    out.extend_from_slice(argument);
    fill_headers(out, start, 0)
}

/// Writes one payload as packets numbered from `sequence`; gives the number behind the last.
pub(in crate::client::mysql) fn write_payload(
    out: &mut Vec<u8>,
    payload: &[u8],
    sequence: u8,
) -> u8 {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(payload);
    fill_headers(out, start, sequence)
}

/// Fills in the header of the payload that `out` holds from `at` on, behind four bytes left free, and splits
/// what is too long for one packet; gives the sequence number behind the last.
fn fill_headers(out: &mut Vec<u8>, mut at: usize, mut sequence: u8) -> u8 {
    loop {
        let length = (out.len() - at - 4).min(CHUNK);
        let [a, b, c, _] = (length as u32).to_le_bytes();
        out[at..at + 4].copy_from_slice(&[a, b, c, sequence]);
        sequence = sequence.wrapping_add(1);
        if length < CHUNK {
            return sequence;
        }
        at += 4 + length;
        out.splice(at..at, [0; 4]);
    }
}

/// Writes a length or number whose first byte tells its size.
pub(in crate::client::mysql) fn write_lenenc_int(out: &mut Vec<u8>, number: u64) {
    let bytes = number.to_le_bytes();
    match number {
        0..=0xFA => out.push(bytes[0]),
        0xFB..=0xFFFF => {
            out.push(0xFC);
            out.extend_from_slice(&bytes[..2]);
        }
        0x1_0000..=0xFF_FFFF => {
            out.push(0xFD);
            out.extend_from_slice(&bytes[..3]);
        }
        _ => {
            out.push(0xFE);
            out.extend_from_slice(&bytes);
        }
    }
}

/// What is wrong with a statement that has more or fewer parameters than it got values.
pub(in crate::client::mysql) fn wrong_value_count() -> Result<u8, ProtocolError> {
    Err(ProtocolError("a statement got the wrong number of parameter values"))
}

/// Writes the execution of a prepared statement; gives the number behind the last packet.
pub(in crate::client::mysql) fn write_execute(
    out: &mut Vec<u8>,
    statement: &PreparedStatement,
    values: &[ParameterValue<'_>],
) -> Result<u8, ProtocolError> {
    if values.len() != usize::from(statement.parameters) {
        return wrong_value_count();
    }
    let start = out.len();
    let [a, b, c, d] = statement.id.to_le_bytes();
    let command = CommandByte::Execute as u8;
    out.extend_from_slice(&[0, 0, 0, 0, command, a, b, c, d, 0, 1, 0, 0, 0]);
    if !values.is_empty() {
        let nulls = out.len();
        out.resize(nulls + values.len().div_ceil(8), 0);
        out.push(1);
        for (index, value) in values.iter().enumerate() {
            let (kind, sign) = match value {
                ParameterValue::Null => {
                    out[nulls + index / 8] |= 1 << (index % 8);
                    (ParameterType::Null, 0)
                }
                ParameterValue::Int(_) => (ParameterType::Longlong, 0),
                ParameterValue::Uint(_) => (ParameterType::Longlong, UNSIGNED),
                ParameterValue::Double(_) => (ParameterType::Double, 0),
                ParameterValue::Bytes(_) => (ParameterType::VarString, 0),
            };
            out.extend_from_slice(&[kind as u8, sign]);
        }
        for value in values {
            match *value {
                ParameterValue::Null => {}
                ParameterValue::Int(n) => out.extend_from_slice(&n.to_le_bytes()),
                ParameterValue::Uint(n) => out.extend_from_slice(&n.to_le_bytes()),
                ParameterValue::Double(n) => out.extend_from_slice(&n.to_le_bytes()),
                ParameterValue::Bytes(bytes) => {
                    write_lenenc_int(out, bytes.len() as u64);
                    out.extend_from_slice(bytes);
                }
            }
        }
    }
    Ok(fill_headers(out, start, 0))
}

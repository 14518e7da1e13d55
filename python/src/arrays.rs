//! Runs plans over `NumPy` arrays of any layout.

use std::mem::MaybeUninit;

use numpy::npyffi::{NPY_ARRAY_WRITEABLE, PyArrayObject};
use numpy::{PyArrayDescr, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;
use zarr_recast::{ElementType, Plan, RunError};

use crate::dtypes::elements;
use crate::errors::run_error;

/// From this many bytes of input and output on, the GIL is released.
const DETACH: usize = 1 << 16;

type Array<'py> = Bound<'py, PyUntypedArray>;

/// The argument as an array.
pub(crate) fn input<'py>(object: &Bound<'py, PyAny>) -> PyResult<Array<'py>> {
    if let Ok(array) = object.cast::<PyUntypedArray>() {
        if !array.is_exact_instance_of::<PyUntypedArray>() && array.hasattr("mask")? {
            return Err(PyTypeError::new_err(
                "masked arrays are ambiguous here; pass array.filled(…)",
            ));
        }
        return Ok(array.clone());
    }
    Ok(as_array(object)?.cast_into::<PyUntypedArray>()?)
}

/// An array of `NumPy` with the elements of any object: through ``__dlpack__`` if it has no ``__array__``.
#[pyfunction]
pub(crate) fn as_array<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    /// Devices of DLPack whose memory the CPU can read: kDLCPU, kDLCUDAHost, kDLROCMHost, kDLCUDAManaged.
    const READABLE: [i32; 4] = [1, 3, 11, 13];
    let py = object.py();
    if object.hasattr("__dlpack_device__")? {
        let (device, _): (i32, i32) = object.call_method0("__dlpack_device__")?.extract()?;
        if !READABLE.contains(&device) {
            return Err(PyTypeError::new_err(format!(
                "{}: the elements are in the memory of a device, and the codecs run on the CPU; copy them first, as \
                 tensor.cpu() of PyTorch and cupy.asnumpy(array) do",
                object.get_type().fully_qualified_name()?
            )));
        }
        if !object.hasattr("__array__")? {
            return numpy(py, "from_dlpack")?.call1((object,));
        }
    }
    numpy(py, "asarray")?.call1((object,))
}

/// The argument as an array that can be written to.
pub(crate) fn output<'a, 'py>(object: &'a Bound<'py, PyAny>) -> PyResult<&'a Array<'py>> {
    let Ok(array) = object.cast::<PyUntypedArray>() else {
        let kind = object.get_type().name()?;
        return Err(PyTypeError::new_err(format!("the output must be a NumPy array, not {kind}")));
    };
    // SAFETY: the pointer is that of a live array object, and the GIL is held.
    let flags = unsafe { (*array.as_array_ptr()).fields.flags };
    if flags & NPY_ARRAY_WRITEABLE == 0 {
        return Err(PyValueError::new_err("the output array is read-only; give a writeable one"));
    }
    Ok(array)
}

/// A new C-ordered array; its elements are not initialised.
pub(crate) fn empty<'py>(
    like: &Array<'py>,
    descr: &Bound<'py, PyArrayDescr>,
) -> PyResult<Array<'py>> {
    let py = like.py();
    let shape = PyTuple::new(py, like.shape())?;
    Ok(numpy(py, "empty")?.call1((shape, descr))?.cast_into::<PyUntypedArray>()?)
}

/// A new array of zeros with the layout of a contiguous one, and its bytes in the order of the memory.
pub(crate) fn zeros<'py>(
    like: &Array<'py>,
    element_size: usize,
) -> PyResult<(Array<'py>, &'py mut [u8])> {
    let py = like.py();
    let shape = PyTuple::new(py, like.shape())?;
    let order = if like.is_c_contiguous() { "C" } else { "F" };
    let out = numpy(py, "zeros")?.call1((shape, like.dtype(), order))?.cast_into()?;
    let block = Block::of(&out, element_size);
    if block.length == 0 {
        return Ok((out, &mut []));
    }
    // SAFETY: a new contiguous array owns `length` initialised bytes from `start` on, and nothing else refers to them
    // before the caller passes the array on.
    let bytes = unsafe { std::slice::from_raw_parts_mut(block.start, block.length) };
    Ok((out, bytes))
}

/// A function of the module `numpy`.
fn numpy<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    MODULE.get_or_try_init(py, || py.import("numpy").map(Bound::unbind))?.bind(py).getattr(name)
}

/// The elements of an array whose memory is one contiguous block, as bytes.
struct Block {
    start: *mut u8,
    length: usize,
}

impl Block {
    /// The array must be C- or Fortran-contiguous.
    fn of(array: &Array<'_>, element_size: usize) -> Self {
        let pointer: *mut PyArrayObject = array.as_array_ptr();
        // SAFETY: the pointer is that of a live array object, and the GIL is held.
        let start = unsafe { (*pointer).fields.data }.cast();
        Self { start, length: array.len() * element_size }
    }

    fn overlaps(&self, other: &Self) -> bool {
        let (start, other_start) = (self.start.addr(), other.start.addr());
        start < other_start + other.length && other_start < start + self.length
    }
}

/// The elements of a contiguous array, in the order in which they lie in memory.
pub(crate) fn bytes<'a>(array: &'a Array<'_>, element_size: usize) -> PyResult<&'a [u8]> {
    if !(array.is_c_contiguous() || array.is_fortran_contiguous()) {
        return Err(PyValueError::new_err("the elements of a block must lie side by side"));
    }
    let block = Block::of(array, element_size);
    if block.length == 0 {
        return Ok(&[]);
    }
    // SAFETY: a contiguous array owns or borrows `length` bytes from `start` on, and `array` keeps them
    // alive. The caller ensures that no other thread writes to them meanwhile.
    Ok(unsafe { std::slice::from_raw_parts(block.start.cast_const(), block.length) })
}

/// Whether memory has been written to before.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Memory {
    /// Never: the system clears each page on first use, which leaves it in the caches, and non-temporal stores
    /// for long outputs would bypass them.
    Fresh,
    /// Perhaps.
    Known,
}

/// Bytes of fresh output per run of a plan: fewer than those from which it uses non-temporal stores.
const FRESH: usize = 16 << 20;

/// Runs a plan over an input and the output's bytes, which need not be initialised.
fn run_in_memory(
    plan: &Plan,
    input: &[u8],
    output: &mut [MaybeUninit<u8>],
    memory: Memory,
) -> Result<(), RunError> {
    if memory == Memory::Known || output.len() <= FRESH {
        return plan.run_uninit(input, output);
    }
    let (from, to) = (plan.source().size(), plan.target().size());
    let count = FRESH / to;
    let pieces = input.chunks(count * from).zip(output.chunks_mut(count * to));
    for (number, (input, output)) in pieces.enumerate() {
        plan.run_uninit(input, output).map_err(|error| error.after(number * count))?;
    }
    Ok(())
}

/// Runs a plan whose source and target are the data types of these arrays.
pub(crate) fn run(
    plan: &Plan,
    input: &Array<'_>,
    output: &Array<'_>,
    memory: Memory,
) -> PyResult<()> {
    if input.shape() != output.shape() {
        return Err(PyValueError::new_err(format!(
            "the input has shape {:?}, the output {:?}; they must be the same",
            input.shape(),
            output.shape()
        )));
    }
    if input.is_empty() {
        return Ok(());
    }
    if output.is_c_contiguous() {
        if input.is_c_contiguous() {
            return run_contiguous(plan, input, output, memory);
        }
        let rows = Rows::of(input, plan.source().size());
        if rows.length >= SHORTEST_ROW && !rows.overlap(&Block::of(output, plan.target().size())) {
            return run_rows(plan, &rows, output, input.shape());
        }
        return run_contiguous(plan, &c_ordered(input)?, output, memory);
    }
    let mut source = input.clone();
    if input.is_fortran_contiguous() && output.is_fortran_contiguous() {
        // The elements have the same order in memory, but the error must be the first one in C order: a second run finds
        // it, in elements that the first run has not written over.
        source = apart(input, plan.source().size(), &Block::of(output, plan.target().size()))?;
        if run_contiguous(plan, &source, output, memory).is_ok() {
            return Ok(());
        }
    }
    let ordered = empty(output, &output.dtype())?;
    run(plan, &source, &ordered, Memory::Fresh)?;
    numpy(input.py(), "copyto")?.call1((output, ordered)).map(drop)
}

/// The contiguous array, or a copy with the same order in memory if its elements lie in the block.
fn apart<'py>(array: &Array<'py>, element_size: usize, block: &Block) -> PyResult<Array<'py>> {
    if Block::of(array, element_size).overlaps(block) {
        return Ok(array.call_method1("copy", ("A",))?.cast_into()?);
    }
    Ok(array.clone())
}

/// A C-ordered copy.
fn c_ordered<'py>(array: &Array<'py>) -> PyResult<Array<'py>> {
    Ok(array.call_method1("copy", ("C",))?.cast_into()?)
}

/// Runs a plan over two arrays with the same order of elements in memory, without gaps.
fn run_contiguous(
    plan: &Plan,
    input: &Array<'_>,
    output: &Array<'_>,
    memory: Memory,
) -> PyResult<()> {
    let py = input.py();
    let target = Block::of(output, plan.target().size());
    let input = apart(input, plan.source().size(), &target)?;
    let source = Block::of(&input, plan.source().size());
    // SAFETY: a contiguous array owns or borrows `length` bytes from `start` on, and `input` keeps
    // them alive. They do not overlap the output. The caller ensures that no other thread writes to
    // them meanwhile, as for NumPy's own loops, which release the GIL too.
    let from = unsafe { std::slice::from_raw_parts(source.start.cast_const(), source.length) };
    // SAFETY: as above, and the output is writeable; its bytes need not be initialised.
    let to = unsafe { std::slice::from_raw_parts_mut(target.start.cast(), target.length) };
    let result = if from.len() + to.len() >= DETACH {
        py.detach(|| run_in_memory(plan, from, to, memory))
    } else {
        plan.run_uninit(from, to)
    };
    result.map_err(|error| run_error(py, &error, input.shape()))
}

/// The elements of an array as rows that are contiguous each: as many of its last axes as lie side by side.
struct Rows {
    /// The first row.
    start: *const u8,
    /// Bytes of a row.
    length: usize,
    /// The lengths of the axes before those, and the distances of their indices in bytes.
    axes: Vec<(usize, isize)>,
}

/// Bytes of rows from which on they are not copied one element at a time, as `NumPy` does it.
const SHORTEST_ROW: usize = 64;

/// Bytes of rows that run together: with their output, they stay in the first-level cache.
const GATHERED: usize = 16 << 10;

impl Rows {
    fn of(array: &Array<'_>, element_size: usize) -> Self {
        let mut axes: Vec<_> =
            array.shape().iter().copied().zip(array.strides().iter().copied()).collect();
        let mut length = element_size;
        // The distance of indices does not matter where there is one.
        while let Some((count, _)) =
            axes.pop_if(|(count, stride)| *count == 1 || stride.cast_unsigned() == length)
        {
            length *= count;
        }
        Self { start: Block::of(array, element_size).start, length, axes }
    }

    /// Whether a row lies in the block, or may do so.
    fn overlap(&self, block: &Block) -> bool {
        let (mut start, mut end) = (self.start.addr(), self.start.addr() + self.length);
        for &(count, stride) in &self.axes {
            let farthest = stride.unsigned_abs() * (count - 1);
            if stride < 0 { start -= farthest } else { end += farthest }
        }
        start < block.start.addr() + block.length && block.start.addr() < end
    }

    /// Calls a function with each row, in C order.
    fn try_for_each<'a>(
        &'a self,
        mut call: impl FnMut(&'a [u8]) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        visit(self.start, &self.axes, &mut |row| {
            // SAFETY: the row is an array's, whose memory its owner keeps alive, with `length` bytes side by side. The caller
            // of `run` ensures that no other thread writes to them meanwhile.
            call(unsafe { std::slice::from_raw_parts(row, self.length) })
        })
    }
}

/// Calls a function with the beginning of each row behind `start`, along all indices of the axes.
fn visit(
    start: *const u8,
    axes: &[(usize, isize)],
    call: &mut impl FnMut(*const u8) -> Result<(), RunError>,
) -> Result<(), RunError> {
    let [(count, stride), inner @ ..] = axes else { return call(start) };
    (0..count.cast_signed())
        .try_for_each(|index| visit(start.wrapping_offset(index * stride), inner, call))
}

// SAFETY: a thread only reads through the pointer, as one does that has the array.
unsafe impl Sync for Rows {}

/// Runs a plan over rows of at least [`SHORTEST_ROW`] bytes, none of which lies in the output, which is contiguous.
fn run_rows(plan: &Plan, rows: &Rows, output: &Array<'_>, shape: &[usize]) -> PyResult<()> {
    let py = output.py();
    let target = Block::of(output, plan.target().size());
    // SAFETY: as in `run_contiguous`.
    let to = unsafe { std::slice::from_raw_parts_mut(target.start.cast(), target.length) };
    let result = if target.length >= DETACH {
        py.detach(|| run_gathered(plan, rows, to))
    } else {
        run_gathered(plan, rows, to)
    };
    result.map_err(|error| run_error(py, &error, shape))
}

/// As [`run_rows`], into the output's bytes.
fn run_gathered(plan: &Plan, rows: &Rows, output: &mut [MaybeUninit<u8>]) -> Result<(), RunError> {
    let mut rest = output;
    let mut done = 0;
    let mut run = |elements: &[u8]| {
        let count = elements.len() / plan.source().size();
        let (to, behind) = std::mem::take(&mut rest).split_at_mut(count * plan.target().size());
        rest = behind;
        plan.run_uninit(elements, to).map_err(|error| error.after(done))?;
        done += count;
        Ok(())
    };
    if rows.length >= GATHERED {
        return rows.try_for_each(run);
    }
    let mut gathered = Vec::with_capacity(GATHERED);
    rows.try_for_each(|row| {
        if gathered.len() + row.len() > GATHERED {
            run(&gathered)?;
            gathered.clear();
        }
        gathered.extend_from_slice(row);
        Ok(())
    })?;
    run(&gathered)
}

/// Elements of a contiguous array in native byte order.
pub(crate) fn block<'a>(
    array: &'a Bound<'_, PyUntypedArray>,
    expected: ElementType,
) -> PyResult<&'a [u8]> {
    let found = elements(&array.dtype())?;
    if found.element_type != expected || found.swapped {
        let other = array.dtype().str()?;
        return Err(PyTypeError::new_err(format!("a block of {other} in an array of {expected}")));
    }
    bytes(array, expected.size())
}

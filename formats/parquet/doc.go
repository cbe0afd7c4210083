// Package parquet writes rows as Parquet and reads them. It is the only package
// that uses parquet-go, and works on io types: formats/dataset defines which
// files make up a dataset. It reads files of other tools as rows of JSON: see
// JSON. To support another column type there, add a case to writerOf.
//
// The layout (see Layout): a row group has whole example groups, each of them the
// trajectories of one example in one epoch, which are written together. The heavy
// leaves have neither dictionary nor statistics, and their pages begin at an
// example group, so that whole ones can be copied without decoding. The light
// leaves of all row groups are together at the end of the file, column by column,
// so that one or two ranged reads fetch any few of them.
//
// Rows without heavy leaves are copied by the row group and the column into rows
// of another kind that have the same columns: see Writer.CopyColumns.
//
// The files by topic:
//
//   - Shared: file (an open File), footer (reads and checks it, with the help of
//     thrift), meta (what is kept of it), schema (its columns), leaf (a column and the
//     field of a row type), memory (rows of any type), layout (how rows of a type lie
//     in a file), foreign (files of other tools),
//     codec (zstd).
//   - write_*.go: a Writer adds rows to a row group (write_rows, several groups at once
//     in write_groups). A column of a row group buffers values (write_values,
//     write_tokens), and makes pages (write_chunk, write_dictionary, write_statistics;
//     write_zstd and write_matches choose the compression). Chunks of light leaves are
//     written at the end (write_deferred), before page indexes and footer (write_file).
//     write_size measures rows: this bounds row groups and pages, and what a row may
//     have.
//   - copy_*.go: Writer.CopyFrom adds rows of other files (copy_rows). Pages of which every
//     row is copied are found (copy_pages; copy_paged for light leaves) and copied
//     without decoding, many in one range of bytes (copy_ranges); of other pages, rows
//     are decoded and encoded (copy_values). Writer.CopyColumns copies whole columns of
//     a row group (copy_columns).
//   - read_*.go: a Reader opens a row group's columns (read_rows), decodes pages into
//     values (read_pageheader, read_pages, read_column, read_levels, read_values;
//     read_convert for other types of values) and sets the fields of rows
//     (read_assemble, read_fields); read_named does this without a row type; read_budget and read_recycle bound its memory, and
//     read_json*.go make JSON of files of other tools.
//   - remote_*.go: files in an object store. remote_open opens them, remote_plan
//     lists the ranges that a reader needs in the order of need, remote_requests has
//     the budget and the requests, remote_stream the reader's side, remote_next the
//     prefetch of the next file.
//
// To make a leaf heavy, mark it in schema.Columns.
package parquet

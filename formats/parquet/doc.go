// Package parquet writes rows as Parquet and reads them. It is the only package
// that uses parquet-go, and works on io types: formats/dataset defines which
// files make up a dataset. It reads files of other tools as rows of JSON: see
// JSON. To support another column type there, add a case to writerOf.
//
// The layout (see Layout): a row group has whole groups of rows. The heavy
// leaves have neither dictionary nor statistics, and their pages begin at a
// group, so that whole groups can be copied without decoding. The light leaves
// of all row groups are together at the end of the file, column by column, so
// that one or two ranged reads fetch any few of them.
//
// Rows without heavy leaves are copied by the row group and the column into rows
// of another kind that have the same columns: see Writer.Repeat.
//
// The files by topic, on the side of the reader:
//
//   - read_*.go: a Reader opens a row group's columns (read_rows), decodes pages into
//     values (read_pages, read_column, read_levels, read_values) and sets the fields
//     of rows (read_assemble, read_fields); read_budget bounds its memory, and
//     read_json makes JSON of files of other tools.
//   - remote_*.go: files in an object store. remote_open opens them, remote_plan
//     lists the ranges that a reader needs in the order of need, remote_requests has
//     the budget and the requests, remote_stream the reader's side, remote_next the
//     prefetch of the next file.
//
// To make a leaf heavy, mark it in formats.Columns.
package parquet

// Package parquet writes rows as Parquet and reads them. It is the only package
// that uses parquet-go, and works on io types: formats/dataset defines which
// files make up a dataset. It reads files of other tools as rows of JSON: see
// JSON.
//
// The layout: a row group has whole example groups, each of them the
// trajectories of one example in one epoch, which are written together. The heavy
// leaves have neither dictionary nor statistics, and their pages begin at an
// example group, so that whole ones can be copied without decoding. The light
// leaves of all row groups are together at the end of the file, column by column,
// so that one or two ranged reads fetch any few of them.
//
// Rows without heavy leaves are copied by the row group and the column into rows
// of another kind that have the same columns: see Writer.CopyColumns.
//
// The floors, from below; each imports only those before it, and other packages
// import this one:
//
//   - layout: an open File, its footer and schema, and how the columns of a file and
//     the fields of a row type belong together.
//   - page: the pages of a column and their values.
//   - reader: rows of a file, as a row type, by the names of columns or as JSON, and
//     what is fetched ahead of them from an object store.
//   - this package: parquet.go is the door to the others, and a Writer adds rows of its
//     own (write_*.go) or of other files (copy_*.go).
//
// The files of the Writer:
//
//   - write_rows adds rows to a row group, write_groups several example groups at once,
//     within write_bounds. A column of a row group buffers values (write_values,
//     write_tokens), and makes pages (write_chunk, write_dictionary, write_statistics).
//     Chunks of light leaves are written at the end (write_deferred), before page
//     indexes and footer (write_file).
//   - copy_rows: Writer.CopyFrom. Pages of which every row is copied are found (copy_pages;
//     copy_paged for light leaves) and copied without decoding, many in one range of bytes
//     (copy_ranges); of other pages, rows are decoded and encoded (copy_values).
//     Writer.CopyColumns copies whole columns of a row group (copy_columns).
//
// To make a leaf heavy, mark it in schema.Columns.
package parquet

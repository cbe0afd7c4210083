// Package parquet lays rows out as Parquet and reads them back. It is the one
// home of parquet-go, and works on io types: which files make a dataset is the
// matter of formats/dataset. Files of other tools it reads as rows of JSON: see
// JSON. To support one more column type there, add a case to writerOf.
//
// The layout (see Layout): a row group holds whole groups of rows; the heavy
// leaves have neither dictionary nor statistics, and their pages begin at a
// group, so that whole groups can be copied without decoding; the light
// leaves of all row groups lie together at the end of the file, column by
// column, so that one or two ranged reads fetch any few of them.
//
// To make a leaf heavy, mark it in formats.Columns.
package parquet

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
// To make a leaf heavy, mark it in formats.Columns.
package parquet

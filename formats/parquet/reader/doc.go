// Package reader reads rows of a Parquet file in order. A Reader opens the columns of a
// row group and sets the fields of rows (cursor, fields); a NamedReader makes a row type
// of named columns; JSON makes JSON of files of other tools (json_shape, json_value). To
// support another type of column there, add a case to writerOf.
//
// Of a file in an object store, stream_plan lists the ranges that a reader needs in the
// order of need, requests has the memory and the requests under way, stream the reader's
// side, and follower begins to fetch the next file.
package reader

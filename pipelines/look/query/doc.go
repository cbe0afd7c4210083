// Package query keeps the light columns of one dataset's trajectories in memory, so
// that they can be filtered, sorted and counted without reading the dataset again. It
// also reads single trajectories and groups whole, and searches texts.
//
// An Index has the columns of the wide rows, and for each row the rewards of score,
// the advantages of group and the decisions of curate. It takes about 75 bytes a
// trajectory and 8 more for each named reward, and half as much again while it is
// built; a Cache keeps several within a number of bytes. First holds a part of the
// columns at a time. There is no HTTP and no HTML here, and no text for a terminal.
//
// Conditions and orders are expressions over a row or a group; most orders are the name
// of a column, which is sorted without evaluating anything. Texts that many rows share
// are numbered, and each column of numbers is a slice. An index has no answers and no
// metadata: an expression about these reads the columns again.
//
// To add a column that can be filtered and sorted by, add it to the rows in read.go, to
// Index, to its columns, and to expression.Row.
package query

// Package query keeps the light columns of one dataset's trajectories in memory, so
// that they can be sorted, filtered and counted without reading the dataset again. It
// also reads single trajectories and groups whole, and searches texts.
//
// An Index has the columns of the wide rows, and for each row the rewards of score,
// the advantages of group and the decisions of curate. It takes about 80 bytes a
// trajectory and 8 more for each named reward; a Cache keeps several within a number
// of bytes. There is no HTTP and no HTML here.
//
// Texts that many rows share are numbered, and each column of numbers is a slice. So
// an index of a million trajectories fits into 100 MB, where rows would take a
// gigabyte. An index has no answers and no metadata: a filter on these reads the
// columns again.
//
// To add a column that pages can sort by, add it to the rows in read.go, to Index,
// and to rowKey in order.go.
package query

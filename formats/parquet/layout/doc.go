// Package layout opens Parquet files and describes them: the footer, which is checked
// before anything is allocated for what it claims (footer, thrift, meta), the tree of
// columns (schema, annotation), each leaf with the field of a row type that holds its
// values (leaf, convert for columns of other tools), and how the rows of a type lie in
// a file that is written (layout). It reads and writes no page. budget bounds what a
// reader may hold, ahead fetches parts of a file from an object store.
package layout

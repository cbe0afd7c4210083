// Package arrow exchanges Arrow record batches with reward programs: RequestWriter,
// AnswerReader. It is the only package that uses arrow-go, and the program
// links only Arrow's memory layout and IPC from it; arrowtest, which only tests
// import, also reads Parquet with it.
package arrow

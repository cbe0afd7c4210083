// Package arrow speaks with reward programs in streams of Arrow record batches:
// AskWriter, AnswerReader. It is the one home of arrow-go, of which the program
// has Arrow's memory layout and IPC alone; arrowtest, which only tests import,
// reads Parquet through it, too.
package arrow

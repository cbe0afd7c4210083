// Package runroot finds the run that a dataset belongs to: the id in the run's root, the
// root of a dataset's URI, and the addresses by which datasets of one run name each other.
//
// It reads no datasets. Where each dataset of a run lies is decided in pipelines/run; only
// the names of epochs' folders are here, because a root is found by them.
package runroot

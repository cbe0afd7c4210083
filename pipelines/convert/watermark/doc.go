// Package watermark remembers what the nights of a run have imported: the objects of a log, and its
// calls. It lies in the folder of the run, on a disk or in an object store:
//
//	.rollmill/import/night-<k>                  a head: the digest of the state after the k-th night
//	.rollmill/import/state-<k>-<digest>         the state: JSON, with the objects
//	.rollmill/import/marks-<digest>             what is known of calls, sorted, see Mark
//	.rollmill/import/pending-<digest>           calls that wait for a later night
//	.rollmill/import/lease.json                 who is at work
//
// It knows digests and bytes, and nothing of rows. Every file is verified whenever it is read; what is
// damaged, missing, older than the datasets of the run, or of another run is an error that names it,
// never an empty watermark.
//
// A night is: Open, Changed, Read and Note for each call, Pend, Seal, the dataset, Finish. Seal writes
// everything but the head, and returns the digest that the dataset's manifest records. The dataset
// decides: a process that dies before it has changed nothing, and after it the next Open finds the
// digest in the manifest and finishes the night. A night without rows is decided by its head.
//
// Rejected: a file of marks for each night, of which a year has hundreds; each would be verified every
// night, as the one file is. Rejected as well: no lease, so that what is created first decides. Then a
// night with a dataset and one without could both end.
package watermark

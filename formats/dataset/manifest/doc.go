// Package manifest says what a dataset is: the Spec that decides its rows and identity, the
// Manifest that describes it, the records of its shards, what compaction and pruning leave
// in the manifest's place, and the gates that may refuse it. All of these are checked when
// they are decoded.
//
// It opens no object: package seal does. A further field goes into Content if the digest by
// which other datasets refer to this one shall cover it, and next to Content if not; older
// versions keep both. See the guide "datasets", whose tables a test compares with the types.
package manifest

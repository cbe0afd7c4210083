// Package backendtest tests what every trainer must do. A new backend's own
// tests make a Subject and call Run, and call Kind with its Kind; example_test.go
// is a complete backend that calls Run, the smallest possible one, and a good
// place to begin.
//
// # How to add a backend
//
// A program in any language needs none of this: see stages/backends/command.
// In Go:
//
//  1. Make a folder of stages/backends, named after the provider, with a Config
//     and a Trainer, which is a backends.Trainer: the interface says what its
//     methods guarantee. A backend imports stages/backends, formats and its
//     codecs, and no stage. The shape of what is sent is a package of formats if
//     anything else could want it. A backend that is a service asks it by
//     stages/backends/remote; one that lists its jobs makes them by
//     stages/backends.
//  2. Decide how a submission is found again, before anything else. Submission's
//     Token names the batch, and is the same for every attempt: put it where the
//     trainer keeps it (a job's name, metadata, a file's name), so that Resolve
//     can look for it. Where a trainer keeps nothing, Resolve answers
//     backends.JobUnknown, and a person is asked; it never guesses.
//  3. Preflight reports every row that the trainer would refuse, crash on or
//     misread, each by a reason from a closed list, and lists that in
//     BatchStats.Checks. It has no effect.
//  4. Submit streams: the groups that it ranges over are read as it goes, and no
//     more than one is kept. It asks Guard before each piece (Guarded does so for
//     each group), Fence right before the request that cannot be undone, and
//     never repeats one that may have had an effect. The package's comment has a
//     table: which request that is, and what each answer to it proves. A refusal
//     of it proves little, since a proxy may have answered: RefusedAfter is the
//     suite for that.
//  5. Jobs that outlive the connection: add Status (backends.Follower), and Cancel
//     (backends.Canceller). A state that is not known is formats.JobRunning with
//     Outcome.UnknownState, which is waited for no longer than the stall limit.
//     A backend that only keeps the batch says so (backends.Keeper), and so does
//     one that makes a new model for each submission (backends.ModelMaker): all
//     others advance one policy, and get an epoch of a run once. Settings that
//     change the outcome are named by Identity (backends.Identified).
//  6. Errors describe themselves by methods: Temporary, Misused, Hint
//     (remote.Error has them). No error, note or record holds a secret.
//  7. Write the test server from the service's documents, each misbehaviour a
//     switch of its own, in a folder next to the backend, named after it
//     (art/arttest, openai/openaitest), and run this suite over it.
//  8. Add a line to the list in stages/backends/all, and a subject to the random
//     kills of stages/submit (kill_random_test.go).
package backendtest

// Package backendtest tests what every trainer must do. A new backend's own
// test makes a Subject and calls Run, and calls Kind with its Kind. example_test.go
// does so for the smallest complete backend, and is a good place to begin.
//
// # How to add a backend
//
// A program in any language needs none of this: see stages/backends/command. In Go:
//
//  1. Make a folder of stages/backends, named after the provider, with a Config
//     and a Trainer, which is a backends.Trainer: the interface says what its
//     methods guarantee. A backend imports stages/backends, formats and its
//     codecs, and no stage. If other code could use the shape of what is sent,
//     that shape is a package of formats. Requests to a service go through
//     stages/internal/remote; if the service lists its jobs, backends.Jobs makes
//     them.
//  2. First decide how a submission is found again. Submission's Token names the
//     batch, and is the same for every attempt: put it where the trainer keeps it
//     (a job's name, metadata, a file's name), so that Resolve can look for it.
//     If a trainer keeps nothing, Resolve returns backends.JobUnknown, and a
//     person is asked; it never guesses.
//  3. Preflight reports every row that the trainer would refuse, crash on or
//     misread, each with a reason from a closed list. BatchStats.Checks has the
//     list. Preflight has no effect.
//  4. Submit streams: it reads the groups while it ranges over them, and keeps at
//     most one. It calls Guard before each piece (Guarded does so for each group)
//     and Fence right before the request that cannot be undone, and never repeats
//     a request that may have had an effect. The package comment
//     says which request that is, and what each answer to it proves: see Jobs. A refusal
//     proves little, since a proxy may have sent it: RefusedAfter tests this.
//  5. Describe says what a submission changes, and what submit has to protect:
//     whether it trains one policy, which gets an epoch of a run once, and whether a
//     service keeps the files. If jobs outlive the connection, add Status and Cancel.
//     An unknown state is receipts.JobRunning with Outcome.UnknownState; submit waits
//     for it no longer than the stall limit. Identity names the settings that change
//     the outcome.
//  6. Errors have a kind and a hint: a fault.Error, or a type with the
//     method Fault, as remote.Error has. No error, note or record holds a secret.
//  7. Write the test server from the service's documentation, with a switch for
//     each fault, in a folder next to the backend and named after it
//     (art/arttest, openai/openaitest). Run this suite against it.
//  8. Add a line to the list in stages/backends/all, and a subject to the random
//     kills of stages/submit (kill_random_test.go).
package backendtest

// Package callstest holds what joins single calls to the trajectories that the recorder wrote.
//
// Explode takes a recorded trajectory apart: one row a call, as a log has it, at times that agree
// with its branches. Replay walks such rows as the recorder did when the calls were made, and does
// not use package calls. Expect says, from the recorded trees alone, what joining the calls of many
// attempts must give if nothing names the attempt of a call: which calls are ambiguous, and which
// tree each other conversation is. Attempts makes attempts of random agents. Difference names the
// first column in which two trajectories differ.
package callstest

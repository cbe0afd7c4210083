// Package art reads and writes trajectories in the formats of OpenPipe's ART. A
// server accepts one group a line (art.TrajectoryGroup and the types in it, 0.3
// to 0.5), which wiretest reads for servers and tests.
//
// A message with which a call to the policy was answered becomes a Choice with
// its token ids and logprobs, which ART trains on; every other message is a
// plain one. Branches become additional histories. Check finds what ART would
// refuse, crash on or misread before anything is sent.
//
// The client of the server is stages/backends/art.
package art

// Package art writes trajectories in the shape that an OpenPipe ART server
// takes them (art.TrajectoryGroup and what is in it, 0.3 to 0.5), and reads
// that shape back for servers and tests.
//
// The message that a call to the policy answered with becomes a Choice with
// its token ids and logprobs, which is what ART trains on; every other message
// is a plain one. Branches become additional histories. Check finds what ART
// would refuse, crash on or misread, before anything is sent.
//
// It is not the client of the server: that is stages/backends/art.
package art

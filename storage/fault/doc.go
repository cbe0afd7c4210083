// Package fault is what every part of rollmill says of an error: its kind, which has an exit
// code, and a hint that says what to do. It is below all other packages, and has the one policy
// for trying again.
//
// An error of a package's own type belongs here by its method Fault. Everything else that a
// caller wants to know of an error is the type's own business.
package fault

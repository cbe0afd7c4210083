// Package storetime compares the times of objects by the clock of their store: the clocks
// of two machines may differ by hours.
package storetime

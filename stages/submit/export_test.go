package submit

import "github.com/rollmill/rollmill/formats/dataset/lease"

// Foreign makes this process one of a machine of its own: no other can look
// whether it is gone, so its lease has to tell.
func Foreign(machine string) {
	lease.Boot = func() string { return machine }
}

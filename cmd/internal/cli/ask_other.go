//go:build !unix

package cli

import "os"

// askSignals are the signals that print the progress: none here.
var askSignals []os.Signal

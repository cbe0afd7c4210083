// Package began is when this process began. It imports almost nothing, so that it
// is initialised before the packages that take time.
package began

import "time"

// At is when this process began.
var At = time.Now()

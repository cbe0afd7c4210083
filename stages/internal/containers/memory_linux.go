package containers

import "syscall"

// memoryMB returns how much memory tasks may declare together: that of the machine, less
// a tenth.
func memoryMB() int64 {
	var info syscall.Sysinfo_t
	if syscall.Sysinfo(&info) != nil {
		return unknownMemory
	}
	return max(1, int64(uint64(info.Totalram)*uint64(info.Unit)>>20)*9/10)
}

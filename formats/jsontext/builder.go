package jsontext

// Builder is an Object whose members are found in the same time however many
// there are. Its zero value is empty; only Set may add members.
type Builder struct {
	Object
	at map[string]int // of the members, once there are many
}

// Set replaces the value of a key, or appends it.
func (b *Builder) Set(key string, raw []byte) {
	if i := b.find(key); i >= 0 {
		b.Object[i].Raw = raw
		return
	}
	if b.at != nil {
		b.at[key] = len(b.Object)
	}
	b.Object = append(b.Object, Member{key, raw})
}

// Get returns the value of a key, nil when it is missing.
func (b *Builder) Get(key string) []byte {
	if i := b.find(key); i >= 0 {
		return b.Object[i].Raw
	}
	return nil
}

// fewKeys is how many keys of an object are compared one by one.
const fewKeys = 16

func (b *Builder) find(key string) int {
	if len(b.Object) < fewKeys {
		for i := range b.Object {
			if b.Object[i].Key == key {
				return i
			}
		}
		return -1
	}
	if b.at == nil {
		b.at = make(map[string]int, 2*fewKeys)
		for i := range b.Object {
			b.at[b.Object[i].Key] = i
		}
	}
	if i, there := b.at[key]; there {
		return i
	}
	return -1
}

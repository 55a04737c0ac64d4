package configs

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// suggestKey guesses what an unknown key of t was meant to be: a key of t that
// is spelled nearly so, else the same key where it does exist.
func suggestKey(t reflect.Type, name string) string {
	keys := slices.Sorted(maps.Keys(fieldsOf(t)))
	if near := nearest(name, keys); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	var elsewhere []string
	walkTypes(reflect.TypeFor[Config](), "", func(path string, _ reflect.Type) {
		if path == name || strings.HasSuffix(path, "."+name) {
			elsewhere = append(elsewhere, path)
		}
	})
	if len(elsewhere) > 0 && len(elsewhere) <= 3 {
		return fmt.Sprintf("; did you mean %s?", strings.Join(elsewhere, " or "))
	}
	if name == "<<" {
		return "; merge keys are not supported, aliases are"
	}
	return ""
}

// walkTypes calls visit for every key path of t, lists written as "[]".
func walkTypes(t reflect.Type, path string, visit func(path string, t reflect.Type)) {
	if path != "" {
		visit(path, t)
	}
	switch t.Kind() {
	case reflect.Pointer:
		walkFields(t.Elem(), path, visit)
	case reflect.Slice:
		walkFields(t.Elem(), path+"[]", visit)
	case reflect.Struct:
		walkFields(t, path, visit)
	}
}

func walkFields(t reflect.Type, path string, visit func(path string, t reflect.Type)) {
	if t.Kind() != reflect.Struct || t == reflect.TypeFor[Secret]() {
		return
	}
	for f := range t.Fields() {
		walkTypes(f.Type, join(path, f.Tag.Get("yaml")), visit)
	}
}

// Nearest returns the candidate spelled most like name, or "" when none is
// near enough to be a typing mistake.
func Nearest(name string, candidates []string) string { return nearest(name, candidates) }

func nearest(name string, candidates []string) string {
	best, bestDistance := "", len(name)/3+1
	if len(name) > 64 {
		return ""
	}
	for _, c := range candidates {
		if d := distance(strings.ToLower(name), c); d <= bestDistance && (best == "" || d < bestDistance) {
			best, bestDistance = c, d
		}
	}
	return best
}

// distance is the number of inserted, removed, replaced or swapped neighbouring
// bytes between a and b.
func distance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}

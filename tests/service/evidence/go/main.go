// Checks a log with Go's own packages for signed notes and transparency logs (golang.org/x/mod).
package main

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// A cosigner is a witness's key (tlog-cosignature), which the note package leaves to its users.
type cosigner struct {
	name string
	id   uint32
	key  ed25519.PublicKey
}

func (c cosigner) Name() string    { return c.name }
func (c cosigner) KeyHash() uint32 { return c.id }
func (c cosigner) Verify(msg, sig []byte) bool {
	head := fmt.Sprintf("cosignature/v1\ntime %d\n", binary.BigEndian.Uint64(sig))
	return ed25519.Verify(c.key, append([]byte(head), msg...), sig[8:])
}

func newCosigner(vkey string) cosigner {
	parts := strings.SplitN(vkey, "+", 3)
	raw, err := base64.StdEncoding.DecodeString(parts[2])
	check(err)
	sum := sha256.Sum256([]byte(parts[0] + "\n" + string(raw)))
	if raw[0] != 4 || hex.EncodeToString(sum[:4]) != parts[1] {
		log.Fatal("not a key of a witness: ", vkey)
	}
	return cosigner{parts[0], binary.BigEndian.Uint32(sum[:4]), raw[1:]}
}

// Tiles are read over HTTP; tlog's own paths name the height, and those of C2SP do not.
type tiles struct{ prefix, token string }

func (t tiles) Height() int                          { return 8 }
func (t tiles) SaveTiles(_ []tlog.Tile, _ [][]byte) {}
func (t tiles) ReadTiles(list []tlog.Tile) ([][]byte, error) {
	var data [][]byte
	for _, tile := range list {
		data = append(data, t.get(strings.Replace(tile.Path(), "tile/8/", "/tile/", 1)))
	}
	return data, nil
}

func (t tiles) get(path string) []byte {
	request, err := http.NewRequest("GET", t.prefix+path, nil)
	check(err)
	request.Header.Set("Authorization", "Bearer "+t.token)
	response, err := http.DefaultClient.Do(request)
	check(err)
	body, err := io.ReadAll(response.Body)
	check(err)
	if response.StatusCode != 200 {
		log.Fatal(path, " ", response.Status, " ", string(body))
	}
	return body
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func open(text string, keys ...note.Verifier) (string, int64, tlog.Hash) {
	opened, err := note.Open([]byte(text), note.VerifierList(keys...))
	check(err)
	if len(opened.Sigs) != len(keys) {
		log.Fatal("signed by ", len(opened.Sigs), " of ", len(keys))
	}
	lines := strings.Split(opened.Text, "\n")
	size, err := strconv.ParseInt(lines[1], 10, 64)
	check(err)
	root, err := tlog.ParseHash(lines[2])
	check(err)
	return lines[0], size, root
}

func hashes(lines []string) (list []tlog.Hash) {
	for _, line := range lines {
		hash, err := tlog.ParseHash(line)
		check(err)
		list = append(list, hash)
	}
	return
}

func main() {
	var in struct {
		Prefix, Token, Key, Witness, Checkpoint, Cosigned, Old, Consistency, Inclusion string
		Entries                                                                       [][]byte
	}
	check(json.NewDecoder(os.Stdin).Decode(&in))
	key, err := note.NewVerifier(in.Key)
	check(err)
	origin, size, root := open(in.Checkpoint, key)
	if origin != key.Name() || size != int64(len(in.Entries)) {
		log.Fatal("another log, or size: ", origin, size)
	}
	open(in.Cosigned, key, newCosigner(in.Witness))

	// The tree from the entries alone, and every hash and proof from the tiles of the server.
	var stored []tlog.Hash
	memory := tlog.HashReaderFunc(func(indexes []int64) (list []tlog.Hash, _ error) {
		for _, index := range indexes {
			list = append(list, stored[index])
		}
		return
	})
	for n, entry := range in.Entries {
		more, err := tlog.StoredHashes(int64(n), entry, memory)
		check(err)
		stored = append(stored, more...)
	}
	whole, err := tlog.TreeHash(size, memory)
	check(err)
	if whole != root {
		log.Fatal("the root is another")
	}
	remote := tiles{in.Prefix, in.Token}
	reader := tlog.TileHashReader(tlog.Tree{N: size, Hash: root}, remote)
	for n := int64(0); n < size; n += 1 + size/40 {
		proof, err := tlog.ProveRecord(size, n, reader)
		check(err)
		check(tlog.CheckRecord(proof, size, root, n, tlog.RecordHash(in.Entries[n])))
		older, err := tlog.TreeHash(n+1, reader)
		check(err)
		grown, err := tlog.ProveTree(size, n+1, reader)
		check(err)
		check(tlog.CheckTree(grown, size, root, n+1, older))
	}
	bundle, width := remote.get(fmt.Sprintf("/tile/entries/000.p/%d", size%256)), int(size%256)
	for n := 0; n < width; n++ {
		length := int(binary.BigEndian.Uint16(bundle))
		if string(bundle[2:2+length]) != string(in.Entries[n]) {
			log.Fatal("another entry ", n)
		}
		bundle = bundle[2+length:]
	}

	// The proofs of the server itself: tlog-proof, and what it sends to a witness.
	parts := strings.SplitN(in.Inclusion, "\n\n", 2)
	lines := strings.Split(parts[0], "\n")
	index, err := strconv.ParseInt(strings.TrimPrefix(lines[1], "index "), 10, 64)
	check(err)
	_, n, under := open(parts[1], key)
	check(tlog.CheckRecord(hashes(lines[2:]), n, under, index, tlog.RecordHash(in.Entries[index])))
	_, before, older := open(in.Old, key)
	parts = strings.SplitN(in.Consistency, "\n\n", 2)
	_, n, under = open(parts[1], key)
	check(tlog.CheckTree(hashes(strings.Split(parts[0], "\n")[1:]), n, under, before, older))
	fmt.Printf("%d entries hold\n", size)
}

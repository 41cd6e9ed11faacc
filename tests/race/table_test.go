package race_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// proof is a test that shows one interleaving to be harmless: a function, or a case of a suite.
type proof struct{ folder, name string }

// attacks names, for each interleaving that broke an earlier draft of the design, the tests that hold it down.
var attacks = map[int][]proof{
	1:  {{"stream/turn", "TestStoreLosesTheTailOfTheLog"}, {"stream/logtest", "the check sees a hole"}, {"stream/redislog", "TestCountMovesOverRestart"}},
	2:  {{"tests/race", "TestAttack02_StaleHigherEpoch"}, {"ownership/leasetest", "the epoch rises across a deleted session"}, {"ownership/leasetest", "the epoch rises above each record on its own"}},
	3:  {{"tests/race", "TestAttack03_CursorOfLostEpoch"}, {"stream", "TestNewEpoch"}},
	4:  {{"tests/race", "TestAttack04_DelayedConnection"}, {"stream/logtest", "an id is taken once"}, {"tests/race", "TestRounds"}},
	5:  {{"tests/race", "TestAttack05_AcceptUnknownThenTakeOver"}, {"tests/race", "TestAttack05_OwnKeyBusyOnOtherNode"}, {"stream/redislog", "TestReplyLost"}},
	6:  {{"tests/race", "TestAttack06_CancelBeforeCompletedWakeDropped"}, {"stream/turn", "TestStopOutlivesTheOwner"}, {"stream/turn", "TestCancelOfAKeyBeforeItsAcceptance"}, {"stream/logtest", "of a command that came too late"}, {"ownership", "TestStopComesWithRenewal"}},
	7:  {{"stream/turn", "TestOutageCutsNoAnswer"}, {"ownership", "TestOutageCutsNobody"}, {"ownership", "TestClockStep"}, {"tests/chaos", "TestRedisStandsStill"}},
	8:  {{"ownership/leasetest", "a log missing beside a head is a new incarnation"}, {"ownership/leasetest", "a head missing beside a log is a new incarnation"}, {"ownership/leasetest", "a log that lost its end goes on from what is left"}},
	9:  {{"stream/logtest", "only the active run settles"}, {"regen", "TestOnlyTheWritebackOwnerSettles"}, {"tests/race", "TestMutantsAreCaught"}},
	10: {{"stream/logtest", "only the next number applies"}, {"stream/logtest", "another epoch is fenced"}, {"ownership", "TestSecondActor"}, {"tests/race", "TestStoreIsLinearizable"}},
	11: {{"tests/race", "TestEngineIsTheReference"}, {"regen", "TestRevisionSeesEverything"}},
	12: {{"tests/race", "TestAttack12_RefusedCommandZeroWritesOnNonOwner"}, {"stream/turn", "TestRefusedCommandsChangeNothing"}},
	13: {{"stream/turn", "TestRaceOfTwoNodesHasOneWinner"}, {"tests/multinode", "TestRaceHasOneWinner"}},
	14: {{"ownership", "TestGhostIsFound"}, {"ownership", "TestWedgedActorIsNotRenewed"}, {"ownership", "TestRestartedNodeFindsItsPast"}},
	15: {{"ownership", "TestPausedOwnerComesBack"}, {"ownership", "TestLeave"}},
	16: {{"stream/logtest", "one read is consistent"}, {"stream", "TestSubscribeThenRead"}, {"stream", "TestDocumentAndLogAgree"}, {"stream/redislog", "TestFollowAgain"}},
	17: {{"tests/race", "TestAttack17_LocalReadersAfterIdleTakeOver"}, {"stream/logtest", "an owner's coming wakes"}},
	18: {{"stream/logtest", "a settlement and an acceptance at once"}},
	19: {{"ownership/leasetest", "a deadline too far away is cut"}, {"ownership", "TestClockStep"}},
	20: {{"stream", "TestOffers"}, {"stream", "TestNewEpoch"}},
	21: {{"stream/logtest", "keep nothing"}, {"stream/logtest", "position, version and lengths"}},
	22: {{"stream/turn", "TestImportedSessionGoesOn"}, {"stream/turn", "TestBadImportLeavesNothing"}},
	23: {{"stream/redislog", "TestMemoryFull"}, {"ownership/leasetest", "full memory: owners go on and the dead are ended"}},
	24: {{"stream/redislog", "TestKeysShareSlot"}, {"ownership/redislease", "TestCluster"}},
	25: {{"tests/race", "TestAttack25_ReplaceStopsOneRun"}, {"stream/turn", "TestBusyReplace"}},
	26: nil, // abandon_after is not built; its default is off
	27: {{"stream/turn", "TestRepeatedKeyGivesTheFirstReceipt"}, {"client", "TestCommands"}},
	28: {{"stream/turn", "TestStoreLosesTheAcceptance"}, {"tests/chaos", "TestRedisForgetsEverything"}},
	29: {{"gateway", "TestDegraded"}},
	30: {{"gateway", "TestTenants"}, {"regen", "TestIdentifiersAreClosed"}},
	31: {{"gateway", "TestDrain"}, {"tests/multinode", "TestTermCutsNothing"}, {"tests/chaos", "TestRollingRestartCutsNothing"}},
}

// Every interleaving that broke a draft of the design has a test that is there.
func TestEveryAttackHasItsTest(t *testing.T) {
	sources := map[string]string{}
	read := func(folder string) string {
		if sources[folder] == "" {
			files, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(folder), "*.go"))
			require.NoError(t, err)
			for _, f := range files {
				raw, err := os.ReadFile(f)
				require.NoError(t, err)
				if filepath.Base(f) != "table_test.go" {
					sources[folder] += string(raw)
				}
			}
		}
		return sources[folder]
	}
	for n := 1; n <= 31; n++ {
		proofs, listed := attacks[n]
		require.True(t, listed, "attack %d", n)
		for _, p := range proofs {
			src := read(p.folder)
			found := strings.Contains(src, "func "+p.name+"(") || strings.Contains(src, fmt.Sprintf("%q:", p.name))
			require.True(t, found, "attack %d: %s has no test %q", n, p.folder, p.name)
		}
	}
}

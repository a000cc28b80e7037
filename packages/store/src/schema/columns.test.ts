import { type RunState, runId, type RunId, runState } from "@holdfast/protocol";
import { expect, test } from "vitest";
import { z } from "zod";

import { bool, describeTable, group, int, json, nullable, option, text } from "./columns.ts";

interface Sample {
  readonly id: RunId;
  readonly state: RunState | null;
  readonly hidden: boolean;
  readonly labels: readonly string[];
  readonly size: { readonly width: number; readonly height: number } | null;
}

const id = text("run_id", runId);
const state = nullable(option("state", runState));
const hidden = bool("hidden");
const labels = json<readonly string[]>("labels", z.array(z.string()));
const size = group({ width: int("width"), height: int("height") });

test("a described table has the columns of its fields in their order", () => {
  const samples = describeTable<Sample>("samples", ["id"], { id, state, hidden, labels, size });
  expect(samples.columns.map(({ name }) => name)).toEqual([
    "run_id",
    "state",
    "hidden",
    "labels",
    "width",
    "height",
  ]);
  expect(samples.key).toEqual(["run_id"]);
});

test("the compiler rejects a description that does not fit the engine's row", () => {
  const wrong = [
    // @ts-expect-error -- `size` has no column
    describeTable<Sample>("samples", ["id"], { id, state, hidden, labels }),
    // @ts-expect-error -- the row has no such field
    describeTable<Sample>("samples", ["id"], { id, state, hidden, labels, size, other: hidden }),
    // @ts-expect-error -- the key is not a field
    describeTable<Sample>("samples", ["run_id"], { id, state, hidden, labels, size }),
    // @ts-expect-error -- any text for a run's id
    describeTable<Sample>("samples", ["id"], { id: text("id"), state, hidden, labels, size }),
    describeTable<Sample>("samples", ["id"], {
      id,
      // @ts-expect-error -- the field may be null, and the column may not
      state: option("state", runState),
      // @ts-expect-error -- the column may be null, and the field may not
      hidden: nullable(hidden),
      // @ts-expect-error -- a column of another type
      labels: int("labels"),
      // @ts-expect-error -- a part has no column
      size: group({ width: int("width") }),
    }),
  ];
  expect(wrong).toHaveLength(5);
});

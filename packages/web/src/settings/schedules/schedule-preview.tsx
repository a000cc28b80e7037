import type { ApiError } from "@holdfast/client";
import { useEffect, useState } from "react";
import { useApp } from "../../app-context.ts";
import { strings } from "../../strings/strings.ts";
import { describeRefusal, formatMoment } from "./format-schedule.ts";
import { draftTimes, type ScheduleDraft } from "./schedule-draft.ts";

type Preview =
  | { readonly kind: "times"; readonly next: readonly number[] }
  | { readonly kind: "refused"; readonly error: ApiError };

/** Somebody who types is not asked for each letter. */
const restMs = 300;

/** When the schedule would run next, or what is wrong with its times, while the form is filled in. */
export function SchedulePreview({ draft }: { draft: ScheduleDraft }) {
  const { client } = useApp();
  const [preview, setPreview] = useState<Preview | null>(null);
  const timeZone = draft.timeZone.trim();
  const drafted = draftTimes(draft);
  const asked =
    drafted.kind === "complete" ? JSON.stringify({ times: drafted.times, timeZone }) : "";
  useEffect(() => {
    let isCurrent = true;
    async function ask(): Promise<void> {
      if (drafted.kind === "missing") return setPreview(null);
      const result = await client.previewSchedule({ body: { times: drafted.times, timeZone } });
      if (!isCurrent) return;
      setPreview(
        result.ok
          ? { kind: "times", next: result.value.next }
          : { kind: "refused", error: result.error },
      );
    }
    const timer = setTimeout(() => void ask(), restMs);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
    // `asked` has all that the request depends on.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [client, asked]);

  if (preview === null) return null;
  return (
    <output className="schedule-preview quiet">
      {preview.kind === "times"
        ? strings.schedules.preview(preview.next.map((at) => formatMoment(at, timeZone)))
        : describeRefusal(preview.error)}
    </output>
  );
}

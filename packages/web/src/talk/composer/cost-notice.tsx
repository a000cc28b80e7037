import { type AttachmentCost, describeAttachmentCost, isCostly } from "@holdfast/client";
import type { Attachment } from "@holdfast/protocol";
import { useEffect, useState } from "react";
import { useApp, useStore } from "../../app-context.ts";

interface CostNoticeProps {
  readonly attachments: readonly Attachment[];
  /** `null` for the default model. */
  readonly model: string | null;
}

/** Says before sending what large attachments take of the context, and what they cost. */
export function CostNotice({ attachments, model }: CostNoticeProps) {
  const { client, models } = useApp();
  const list = useStore(models);
  const name = model ?? list?.usual;
  const [estimated, setEstimated] = useState<Estimated | null>(null);
  useEffect(() => {
    if (attachments.length === 0 || name === undefined) return;
    const leaving = new AbortController();
    const body = { attachments: [...attachments], model: name };
    void client.estimateAttachments({ body }, { signal: leaving.signal }).then((result) => {
      if (result.ok && !leaving.signal.aborted)
        setEstimated({ attachments, name, cost: result.value });
      return undefined;
    });
    return () => leaving.abort();
  }, [client, attachments, name]);
  const isCurrent = estimated?.attachments === attachments && estimated.name === name;
  if (!isCurrent || !isCostly(estimated.cost)) return null;
  return (
    <output className="composer-notice quiet">{describeAttachmentCost(estimated.cost)}</output>
  );
}

/** What was asked about, so that an answer about others is not shown. */
interface Estimated extends Pick<CostNoticeProps, "attachments"> {
  readonly name: string;
  readonly cost: AttachmentCost;
}

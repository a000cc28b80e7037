import type { SessionView } from "@holdfast/protocol";
import { useState } from "react";
import { Dialog } from "../ui/dialog.tsx";
import { strings } from "../strings/strings.ts";

interface OrganiseDialogProps {
  readonly session: SessionView;
  readonly onSave: (patch: { project: string | null; tags: string[] }) => void;
  readonly onClose: () => void;
}

export function OrganiseDialog({ session, onSave, onClose }: OrganiseDialogProps) {
  const [project, setProject] = useState(session.project ?? "");
  const [tags, setTags] = useState(session.tags.join(", "));
  function save(): void {
    const named = tags
      .split(",")
      .map((tag) => tag.trim().slice(0, 60))
      .filter((tag) => tag !== "");
    const name = project.trim().slice(0, 120);
    onSave({ project: name === "" ? null : name, tags: [...new Set(named)].slice(0, 50) });
  }
  return (
    <Dialog
      title={strings.sessions.organise}
      confirm={strings.common.save}
      onConfirm={save}
      onClose={onClose}
    >
      <label className="field">
        {strings.sessions.projectField}
        <input
          className="input"
          value={project}
          onChange={(event) => setProject(event.target.value)}
        />
      </label>
      <label className="field">
        {strings.sessions.tagsField}
        <input className="input" value={tags} onChange={(event) => setTags(event.target.value)} />
      </label>
    </Dialog>
  );
}

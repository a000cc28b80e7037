import type { ProjectView } from "@holdfast/protocol";
import { useEffect, useState } from "react";
import { useApp } from "../../app-context.ts";

/** Empty until the host has answered. */
export function useProjects(): readonly ProjectView[] {
  const { client } = useApp();
  const [projects, setProjects] = useState<readonly ProjectView[]>([]);
  useEffect(() => {
    const leaving = new AbortController();
    void client.listProjects({}, { signal: leaving.signal }).then((listed) => {
      if (listed.ok) setProjects(listed.value.projects);
      return undefined;
    });
    return () => leaving.abort();
  }, [client]);
  return projects;
}

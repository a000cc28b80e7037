import { plural } from "@holdfast/protocol";

export const filesStrings = {
  files: {
    open: "Files",
    title: "Files",
    root: "Workspace",
    empty: "This folder is empty.",
    loading: "Loading files…",
    more: (count: number) =>
      count === 1 ? "1 more is not listed." : `${count.toLocaleString()} more are not listed.`,
    refresh: "Refresh",
    upload: "Upload",
    uploaded: (name: string) => `${name} uploaded.`,
    uploadFailed: (name: string, why: string) => `${name}: ${why}`,
    replaceTitle: (name: string) => `Replace ${name}?`,
    replaceLead: "A file with this name already exists in the folder.",
    replace: "Replace",
    kind: { link: "Link", other: "Special file" },
    download: "Download",
    back: "Back to the list",
    binary: "This file is not text. Download it to open it.",
    noPdfViewer: "This browser does not show PDFs inside a page.",
    openPdf: "Open the PDF",
    cut: (shown: string, whole: string) => `The first ${shown} of ${whole}.`,
    noScripts: "Scripts and links to other sites are off in this preview.",
    preview: (name: string) => `Preview of ${name}`,
    leftByOther: (count: number) =>
      plural(count, {
        one: "# file is still as the other version left it.",
        other: "# files are still as the other version left them.",
      }),
    bringOwn: "Restore this version's files",
    zoom: (name: string) => `Show ${name} larger`,
    show: (name: string) => `Show ${name}`,
    /** Read out before the name of a file. */
    showNamed: "Show",
    attach: "Attach to the next message",
    gone: "The file could not be loaded. Close this and try again.",
  },
  unseen: {
    pictures: (model: string) =>
      `${model} cannot see pictures. It gets only their names; its tools can find the files in the workspace.`,
    perhaps_pictures: (model: string) =>
      `${model} may not be able to see pictures. They are sent anyway; its server may reject them.`,
    asFiles: "Send as files",
    pdf_pages: (model: string) =>
      `${model} gets the text of PDFs with page numbers. It does not see their pictures or scanned pages.`,
    media: (model: string) =>
      `${model} cannot play audio or video. It gets only the names; its tools can find the files in the workspace.`,
  },
  folder: {
    label: "Folder",
    own: "Own folder",
    ownHint: "An empty folder that Holdfast keeps for this conversation",
    worktree: "In a worktree",
    worktreeOf: (folder: string) => `${folder} (worktree)`,
    worktreeHint: "On a branch of its own, beside your files. The folder must be a git repository.",
    other: "Other folder…",
    title: "Work in a folder",
    lead: "The path of a folder on the machine that runs Holdfast.",
    field: "Folder",
    placeholder: "/home/me/project",
    choose: "Use this folder",
    askable: (path: string) =>
      `Holdfast may not work there yet. On that machine, run: holdfast workspaces allow ${path}`,
    moved: "The conversation now works in this folder.",
    absolute: "Enter the full path, starting with /.",
  },
  worktree: {
    title: "Worktree",
    branch: "Branch",
    repository: "Repository",
    folder: "Folder",
    work: "Only in this worktree",
    counts: (changes: number, commits: number) =>
      `${plural(changes, { one: "# file not committed", other: "# files not committed" })}, ${plural(commits, { one: "# commit not merged", other: "# commits not merged" })}`,
    merge: "To bring this work into your current branch, run this in the repository:",
    remove: "Remove but keep the branch…",
    removeBranch: "Remove with its branch…",
    askRemove: "Remove this worktree?",
    askRemoveBranch: (branch: string) => `Remove this worktree and the branch ${branch}?`,
    confirm: "Remove",
    lose: "Remove and discard this work",
    lost: (changes: number, commits: number) =>
      `You will lose: ${plural(changes, { one: "# file that is not committed", other: "# files that are not committed" })}, ${plural(commits, { one: "# commit that is on no other branch", other: "# commits that are on no other branch" })}.`,
    nothingLost: "No work is lost. The conversation stays; choose another folder to continue it.",
    purgeAnyway: "Delete but keep the worktree",
    kept: (count: number) =>
      plural(count, {
        one: "# conversation was kept: deleting it would lose work in its worktree.",
        other: "# conversations were kept: deleting them would lose work in their worktrees.",
      }),
    removed: "Removed.",
  },
} as const;

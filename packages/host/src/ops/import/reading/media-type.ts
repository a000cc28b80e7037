const mediaTypes: Readonly<Record<string, string>> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
  pdf: "application/pdf",
  txt: "text/plain",
  md: "text/markdown",
  json: "application/json",
  csv: "text/csv",
  wav: "audio/wav",
  mp3: "audio/mpeg",
  mp4: "video/mp4",
};

/** By the ending of its name. */
export function mediaTypeOf(name: string): string {
  const ending = /\.([A-Za-z0-9]+)$/.exec(name)?.[1]?.toLowerCase() ?? "";
  return mediaTypes[ending] ?? "application/octet-stream";
}

"""The records that travel between the stages: small, frozen, without behaviour of a stage.

Times inside are integer samples at 16 kHz (`SampleSpan`); seconds (`TimeSpan`) appear where a
model or a file format speaks in seconds. All times count from the start of the recording.
"""

from murmur_cli.types.audio import (
    AudioFacts,
    ChannelMode,
    Recording,
    Samples,
    SampleSource,
    Stream,
)
from murmur_cli.types.chunks import (
    Chunk,
    ChunkPlan,
    PackingRule,
    Window,
)
from murmur_cli.types.enrolment import (
    Enrolment,
    KnownVoice,
    KnownVoices,
    VoiceClip,
    VoiceMatch,
)
from murmur_cli.types.model_identity import ModelIdentity
from murmur_cli.types.recognition import (
    ChunkTranscript,
    Flag,
    KvUsage,
    RejectedText,
    Segment,
    Word,
    WordTimes,
    join_words,
)
from murmur_cli.types.spans import (
    SampleSpan,
    TimeSpan,
)
from murmur_cli.types.speakers import (
    ChunkDiarization,
    Embedding,
    LocalSpeaker,
    LocalTurn,
    MovedTurn,
    SpeakerHints,
    SpeakerTimeline,
    SpeakerTurn,
    StitchDecision,
)
from murmur_cli.types.transcript import (
    RunRecord,
    SpeakersFrom,
    StageTiming,
    Status,
    Transcript,
)

__all__ = [
    "AudioFacts",
    "ChannelMode",
    "Chunk",
    "ChunkDiarization",
    "ChunkPlan",
    "ChunkTranscript",
    "Embedding",
    "Enrolment",
    "Flag",
    "KnownVoice",
    "KnownVoices",
    "KvUsage",
    "LocalSpeaker",
    "LocalTurn",
    "ModelIdentity",
    "MovedTurn",
    "PackingRule",
    "Recording",
    "RejectedText",
    "RunRecord",
    "SampleSource",
    "SampleSpan",
    "Samples",
    "Segment",
    "SpeakerHints",
    "SpeakerTimeline",
    "SpeakerTurn",
    "SpeakersFrom",
    "StageTiming",
    "Status",
    "StitchDecision",
    "Stream",
    "TimeSpan",
    "Transcript",
    "VoiceClip",
    "VoiceMatch",
    "Window",
    "Word",
    "WordTimes",
    "join_words",
]

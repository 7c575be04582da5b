"""What is heard of a file: the mix of its channels, or each channel by itself."""

from __future__ import annotations

from dataclasses import dataclass

from murmur_cli.audio.bleed import Copy, find_copies, without_copies
from murmur_cli.audio.channel_use import ChannelUse, channel_use
from murmur_cli.audio.mono_mix import mix_to_mono, take_one
from murmur_cli.audio.probe import frame_level_db
from murmur_cli.audio.spool import AudioSource
from murmur_cli.types import ChannelMode, SampleSource, Stream

SPLIT = "split"


@dataclass(frozen=True, slots=True)
class Heard:
    """The streams of a file; `how` is AudioFacts.mix, the lines are for the user."""

    streams: tuple[Stream, ...]
    how: str
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def streams_of(channels: AudioSource, mode: ChannelMode, *, is_surround: bool = False) -> Heard:
    """The streams of (samples, channels).

    Channels without sound, and copies of one another, are never heard twice. In a channel that
    is heard by itself, what it holds of the people of the others is left out.

    Args:
        is_surround: the file says that its channels are places of loudspeakers, not people.

    Raises:
        NoRoomError: the temporary file of a long recording cannot be made or written.
    """
    if mode is ChannelMode.MIX or channels.shape[1] == 1:
        return _mixed(channels)
    use = channel_use(channels)
    if use.are_alike:
        return _alike(channels, use, asked=mode is ChannelMode.SPLIT)
    if len(use.distinct) < 2 or (mode is ChannelMode.AUTO and (is_surround or not use.talkers)):
        return _mixed(channels)
    found = ("the channels hold different people; each is heard by itself",)
    return _split(channels, use, (*(found if mode is ChannelMode.AUTO else ()), *_repeated(use)))


def _mixed(channels: AudioSource) -> Heard:
    mix = mix_to_mono(channels)
    warnings = (mix.warning,) if mix.warning is not None else ()
    return Heard((Stream(mix.samples),), mix.how, warnings)


def _alike(channels: AudioSource, use: ChannelUse, *, asked: bool) -> Heard:
    mixed = _mixed(channels)
    line = f"the channels hold the same sound (correlation {use.correlation:.3f}), heard once"
    if asked:
        return Heard(mixed.streams, mixed.how, (*mixed.warnings, f"--channels split: {line}"))
    return Heard(mixed.streams, mixed.how, mixed.warnings, (line,))


def _split(channels: AudioSource, use: ChannelUse, notes: tuple[str, ...]) -> Heard:
    level_db = frame_level_db(channels)
    copies = find_copies(channels, level_db, use.distinct)

    def samples(channel: int) -> SampleSource:
        held = [copy for copy in copies if copy.target == channel]
        if held:
            return without_copies(channels, level_db, channel, held)
        return take_one(channels, channel).samples

    return Heard(
        tuple(Stream(samples(channel), channel + 1) for channel in use.distinct),
        SPLIT,
        notes=(*notes, *map(_line, copies)),
    )


def _repeated(use: ChannelUse) -> tuple[str, ...]:
    extra = [str(at + 1) for at in use.live if at not in use.distinct]
    if not extra:
        return ()
    one = "s " + ", ".join(extra) + " hold" if len(extra) > 1 else f" {extra[0]} holds"
    return (f"channel{one} the sound of an earlier one; heard once",)


def _line(copy: Copy) -> str:
    return (
        f"channel {copy.target + 1} also holds channel {copy.source + 1} at {copy.gain_db:.0f} dB;"
        " that was left out"
    )

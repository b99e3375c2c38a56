import com.yahoo.labs.samoa.instances.Attribute;
import com.yahoo.labs.samoa.instances.DenseInstance;
import com.yahoo.labs.samoa.instances.Instance;
import com.yahoo.labs.samoa.instances.Instances;
import com.yahoo.labs.samoa.instances.InstancesHeader;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.StringJoiner;
import moa.classifiers.meta.WeightedMajorityAlgorithm;

/** Times MOA's weighted majority of logistic regressions over a stream: Stream.java FILE SLOTS FEATURES REPEATS RATE... */
public class Stream {
    /** Turns that are not counted: the virtual machine compiles what it has seen often. */
    private static final int WARM_UP = 3;

    public static void main(String[] arguments) throws Exception {
        int slots = Integer.parseInt(arguments[1]);
        int features = Integer.parseInt(arguments[2]);
        int repeats = Integer.parseInt(arguments[3]);
        StringJoiner members = new StringJoiner(",");
        for (int place = 4; place < arguments.length; place++) {
            members.add("functions.SGD -o LOGLOSS -l 0.0 -r " + arguments[place]);
        }
        Instance[] instances = read(Path.of(arguments[0]), slots, features);
        for (int turn = -WARM_UP; turn < repeats; turn++) {
            WeightedMajorityAlgorithm model = new WeightedMajorityAlgorithm();
            model.learnerListOption.setValueViaCLIString(members.toString());
            model.setModelContext((InstancesHeader) instances[0].dataset());
            model.prepareForUse();
            long mistakes = 0;
            long start = System.nanoTime();
            for (Instance instance : instances) {
                double[] votes = model.getVotesForInstance(instance);
                int decision = votes.length > 1 && votes[1] > votes[0] ? 1 : 0;
                if (decision != (int) instance.classValue()) mistakes++;
                model.trainOnInstance(instance);
            }
            double each = (System.nanoTime() - start) / 1e9 / slots;
            if (turn >= 0) System.out.println(each + " " + (double) mistakes / slots);
        }
    }

    /** Rows of doubles, each the features and then the label, 0 or 1. */
    private static Instance[] read(Path path, int slots, int features) throws Exception {
        List<Attribute> attributes = new ArrayList<>();
        for (int place = 0; place < features; place++) attributes.add(new Attribute("x" + place));
        attributes.add(new Attribute("label", List.of("-1", "+1")));
        InstancesHeader header = new InstancesHeader(new Instances("stream", attributes, 0));
        header.setClassIndex(features);
        ByteBuffer bytes = ByteBuffer.wrap(Files.readAllBytes(path)).order(ByteOrder.LITTLE_ENDIAN);
        Instance[] instances = new Instance[slots];
        for (int slot = 0; slot < slots; slot++) {
            double[] values = new double[features + 1];
            for (int place = 0; place <= features; place++) values[place] = bytes.getDouble();
            instances[slot] = new DenseInstance(1.0, values);
            instances[slot].setDataset(header);
        }
        return instances;
    }
}
